"""A daemon of a measurement's own: its socket, pool and log end with it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pegaflow.bench.waiting import wait_until
from pegaflow.client import Client
from pegaflow.config.locations import SOCKET_MAX_BYTES
from pegaflow.errors import PegaflowError
from pegaflow.models import Status

_START_S: Final = 60.0
_PIN_S: Final = 300.0
_CALL_S: Final = 10.0
_LOG_LINES: Final = 5

_OWN: Final = frozenset(
    {
        "PEGAFLOW_SOCKET",
        "PEGAFLOW_HTTP_ADDR",
        "PEGAFLOW_POOL_SIZE",
        "PEGAFLOW_LOG_FILE",
        "PEGAFLOW_PID_FILE",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
    }
)
"""What a daemon of a measurement does not take from the environment; other settings hold."""


_PREFIX: Final = "pegaflow-bench-"
_SOCKET: Final = "daemon.sock"
_NAME_BYTES: Final = len(f"/{_PREFIX}12345678/{_SOCKET}")


def _short_place() -> str:
    """Where temporary files go, unless that is too long for a socket's path."""
    place = tempfile.gettempdir()
    return place if len(os.fsencode(place)) + _NAME_BYTES <= SOCKET_MAX_BYTES else "/tmp"


class BenchDaemon:
    """``pegaflow serve`` on a socket in a directory of its own; ``start`` may follow ``kill``."""

    def __init__(self, pool_bytes: int, options: Sequence[str] = ()) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_short_place())
        self.directory = Path(self._directory.name)
        self.socket = str(self.directory / _SOCKET)
        self._log = self.directory / "daemon.log"
        self._command = [
            *(sys.executable, "-m", "pegaflow", "serve"),
            f"--socket={self.socket}",
            f"--pool-size={pool_bytes}",
            *options,
        ]
        self._client = Client(self.socket, _CALL_S)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The daemon's process."""
        assert self._process is not None, "the daemon does not run"
        return self._process.pid

    def start(self) -> float:
        """Start it; the seconds until its first answer."""
        began = time.monotonic()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                start_new_session=True,
            )
        wait_until(self._answers, "the daemon answers", _START_S)
        return time.monotonic() - began

    def status(self) -> Status:
        """Its status."""
        return self._client.status()

    def wait_ready(self) -> None:
        """Wait until its pool is whole, and pinned where there is a GPU."""
        wait_until(self._is_ready, "the daemon's pool is ready", _PIN_S)

    def wait_settled(self) -> None:
        """Wait until it is ready, and makes no checksums of what was saved any more."""
        self.wait_ready()
        wait_until(self._has_all_checksums, "the daemon has all checksums", _PIN_S)

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        assert self._process is not None, "the daemon does not run"
        self._process.kill()
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """End it if it runs, free its memory and remove its directory."""
        if self._process is not None:
            with suppress(PegaflowError):
                self._client.stop(purge=True)
            self.kill()
        self._client.purge(None)
        self._directory.cleanup()

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            said = self._log.read_text(encoding="utf-8", errors="replace").strip()
            end = " ".join(said.splitlines()[-_LOG_LINES:])
            raise PegaflowError(f"the daemon has ended at its start: {end}")
        try:
            return bool(self.status().pid)
        except PegaflowError:
            return False

    def _has_all_checksums(self) -> bool:
        return self.status().checksums.pending_pages == 0

    def _is_ready(self) -> bool:
        try:
            status = self.status()
        except PegaflowError:
            return False
        is_pinned = status.gpus.state == "none" or status.gpus.pinned_bytes == status.pool.bytes
        return status.state != "starting" and is_pinned


@contextmanager
def running_daemon(pool_bytes: int, options: Sequence[str] = ()) -> Iterator[BenchDaemon]:
    """A daemon that is ready; it is gone afterwards."""
    daemon = BenchDaemon(pool_bytes, options)
    try:
        daemon.start()
        daemon.wait_ready()
        yield daemon
    finally:
        daemon.close()


def _environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name not in _OWN}
