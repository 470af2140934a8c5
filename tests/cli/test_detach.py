"""Daemons in the background that do not answer in time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pegaflow.cli import detach
from pegaflow.cli.exit_codes import ExitCode, exit_code_of
from pegaflow.config import load
from pegaflow.errors import CallTimeout, ConfigError

_DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> "list[subprocess.Popen[bytes]]":
    """Daemons say nothing and do not listen to SIGTERM; those that were started."""
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **kwargs: object) -> None:
            super().__init__([sys.executable, "-c", _DEAF], **kwargs)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    monkeypatch.setattr(detach, "_PATIENCE_S", 0.2)
    return started


def _start(directory: Path) -> CallTimeout:
    loaded = load({"socket": f"{directory}/daemon.sock"}, config=None, environ={})
    with pytest.raises(CallTimeout) as raised:
        detach.start_detached(loaded, {}, 0.2)
    assert exit_code_of(raised.value) == ExitCode.TIMEOUT
    return raised.value


def test_a_daemon_that_does_not_listen_is_killed(
    deaf: "list[subprocess.Popen[bytes]]", tmp_path: Path
) -> None:
    assert "was not ready within 0.2 s and was ended" in str(_start(tmp_path))
    with pytest.raises(ProcessLookupError):
        os.kill(deaf[0].pid, 0)


def test_a_daemon_that_no_kill_ends_is_left_and_named(
    deaf: "list[subprocess.Popen[bytes]]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.waitpid

    def never_ends(pid: int, options: int) -> tuple[int, int]:
        assert options & os.WNOHANG, "it waits for ever"
        return 0, 0

    monkeypatch.setattr(os, "waitpid", never_ends)
    # What Popen asks with when it does not wait.
    monkeypatch.setattr(subprocess.Popen, "poll", lambda process: process.returncode)
    monkeypatch.setattr(detach, "_KILLED_S", 0.2)
    said = str(_start(tmp_path))
    (process,) = deaf
    _, status = real(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -signal.SIGKILL
    assert f"its process (pid {process.pid}) still runs" in said


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({}, "choose a socket elsewhere with --socket"),
        ({"log_file": "/proc/pegaflow/daemon.log"}, "name another with --log-file"),
    ],
)
def test_a_log_file_that_cannot_be_written_has_a_remedy(
    settings: dict[str, str], remedy: str
) -> None:
    # Nobody can make files there, not even root.
    loaded = load({"socket": "/proc/pegaflow/daemon.sock", **settings}, config=None, environ={})
    with pytest.raises(ConfigError, match=remedy):
        detach.start_detached(loaded, {}, 0.2)
