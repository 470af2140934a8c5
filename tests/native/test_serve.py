"""``_native.serve``: the daemon in a Python process, from start to end."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from pegaflow import _native

_SERVE: Final = """
import sys, threading, time
from pegaflow import _native

def other_thread():
    for _ in range(10):
        time.sleep(0.001)
    print("the interpreter is free", flush=True)

def ready(answer):
    print(answer, flush=True)
    threading.Thread(target=other_thread).start()

_native.serve(sys.argv[1], ready)
print("returned", flush=True)
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory whose path is short enough for a socket."""
    with TemporaryDirectory(prefix="pegaflow-") as name:
        yield Path(name)


def _settings(directory: Path, **changes: object) -> str:
    settings = {"socket": str(directory / "daemon.sock"), "pool_bytes": 64 << 20}
    return json.dumps(settings | {"http_addr": "127.0.0.1:0", "log_level": "warn"} | changes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_serve_and_python_goes_on(directory: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, _settings(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    answer = json.loads(process.stdout.readline())
    assert answer["pid"] == process.pid
    assert process.stdout.readline() == "the interpreter is free\n"
    status = json.loads(_native.status(answer["socket"], 5.0))
    assert status["boot_id"] == answer["boot_id"]
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "returned\n", "")
    assert list(directory.iterdir()) == []


def test_an_exception_of_ready_ends_the_daemon_and_is_raised(directory: Path) -> None:
    def ready(answer: str) -> None:
        raise ZeroDivisionError(json.loads(answer)["pool_kind"])

    with pytest.raises(ZeroDivisionError, match=r"tmpfs|hugetlbfs|memfd"):
        _native.serve(_settings(directory), ready)
    assert list(directory.iterdir()) == []


def test_mistakes_are_config_errors(directory: Path) -> None:
    mistakes: list[tuple[dict[str, object], str]] = [
        ({"copy_threads": 0}, "copy_threads = 0"),
        ({"socket": str(directory / "missing" / "daemon.sock")}, "create that directory"),
        ({"http_addr": "192.0.2.1:80"}, r"http_addr = 192\.0\.2\.1:80"),
    ]
    for changes, part in mistakes:
        with pytest.raises(_native.ConfigError, match=part):
            _native.serve(_settings(directory, **changes), pytest.fail)


def test_calls_without_a_daemon_are_unreachable(directory: Path) -> None:
    socket = str(directory / "daemon.sock")
    with pytest.raises(_native.Unreachable, match=r"daemon\.sock"):
        _native.status(socket, 1.0)
    with pytest.raises(_native.Unreachable, match=r"daemon\.sock"):
        _native.stop(socket, False, 1.0)
    with pytest.raises(_native.ConfigError, match="timeout_s = -1"):
        _native.status(socket, -1.0)


def test_stop_says_what_is_kept_and_returns_after_the_end(directory: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, _settings(directory)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        answer = json.loads(process.stdout.readline())
        stopped = json.loads(_native.stop(answer["socket"], True, 20.0))
        assert stopped == {"pid": process.pid, "pool_bytes_kept": 0}
        assert not Path(answer["socket"]).exists()


@pytest.mark.parametrize(
    ("key", "namespace", "part"),
    [(b"k" * 15, b"n" * 32, "engine_key has 15"), (b"k" * 16, b"n" * 33, "namespace has 33")],
)
def test_clients_refuse_keys_of_another_length(
    directory: Path, key: bytes, namespace: bytes, part: str
) -> None:
    with pytest.raises(_native.ConfigError, match=part):
        _native.SchedulerClient(
            str(directory / "daemon.sock"), key, "engine", namespace, "model", 1, 1
        )
