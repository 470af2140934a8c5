"""A daemon in a directory of its own, started and ended by a test."""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from pegaflow import _native
from tests.engine.closing import Closing
from tests.engine.process_tree import ProcessTree
from tests.engine.waiting import wait_until
from tests.environment import bare

PEGAFLOW: Final = (str(Path(sys.executable).with_name("pegaflow")),)
"""The command line beside this interpreter."""

_START_S: Final = 60.0
_CALL_S: Final = 5.0


class DaemonProcess(Closing):
    """``pegaflow serve`` on a socket of its own; ``start`` may follow ``kill``.

    The directory is in the system's temporary one: a Unix socket's path has 107 bytes at most.
    """

    def __init__(
        self,
        pool_size: str = "256MiB",
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = PEGAFLOW,
    ) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="pegaflow-")
        self.directory = Path(self._directory.name)
        self.socket = self.directory / "daemon.sock"
        self.log = self.directory / "daemon.log"
        self._environment = (
            bare() | {"XDG_CONFIG_HOME": str(self.directory)} | dict(environment or {})
        )
        self._command = [
            *program,
            "serve",
            f"--socket={self.socket}",
            f"--pool-size={pool_size}",
            *options,
        ]
        self._tree: ProcessTree | None = None

    @property
    def pid(self) -> int:
        """The daemon's process."""
        return self._running().pid

    def start(self) -> None:
        """Start it and wait until it answers and its pool is whole."""
        self.launch()
        wait_until(self._is_ready, "the daemon is ready", _START_S)

    def launch(self) -> float:
        """Start it; the seconds until its first answer."""
        began = time.monotonic()
        self._tree = ProcessTree(self._command, self._environment, self.log)
        wait_until(self._answers, "the daemon answers", _START_S)
        return time.monotonic() - began

    def status(self) -> dict[str, Any]:
        """The status document of ``pegaflow status --json``."""
        document: dict[str, Any] = json.loads(_native.status(str(self.socket), _CALL_S))
        return document

    def patient_status(self) -> dict[str, Any]:
        """The status document of a daemon that may be too busy for one call's deadline."""

        def ask() -> dict[str, Any] | None:
            try:
                return self.status()
            except _native.NativeError:
                return None

        return wait_until(ask, "the daemon tells its status", _START_S)

    def blocks(self) -> int:
        """Blocks that it has cached."""
        return sum(space["blocks"] for space in self.status()["namespaces"])

    def complete_engines(self) -> int:
        """Engines of which the scheduler side and all workers are attached."""
        return sum(engine["complete"] for engine in self.status()["engines"])

    def pause(self) -> None:
        """SIGSTOP, and wait until the process has stopped."""
        os.kill(self.pid, signal.SIGSTOP)
        self.wait_stopped()

    def wait_stopped(self, seconds: float = 10.0) -> None:
        """Wait until the process is stopped, by ``pause`` or by itself."""
        wait_until(lambda: _state(self.pid) == "T", "the daemon has stopped", seconds)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self._running().kill()
        self._tree = None

    def stop(self, seconds: float = 20.0) -> int:
        """SIGTERM: the exit code."""
        code = self._running().terminate(seconds)
        self._tree = None
        return code

    def close(self) -> None:
        """End it if it runs, free its memory and remove the directory."""
        if self._tree is not None:
            try:
                _native.stop(str(self.socket), True, _CALL_S)
            except _native.NativeError:
                pass
            finally:
                self.kill()
        _native.purge(str(self.socket), None)
        self._directory.cleanup()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def _running(self) -> ProcessTree:
        assert self._tree is not None, "the daemon does not run"
        return self._tree

    def _is_ready(self) -> bool:
        return bool(self.status()["state"] != "starting")

    def _answers(self) -> bool:
        tree = self._running()
        assert not tree.has_ended(), f"the daemon has ended at its start\n{tree.log_tail()}"
        try:
            return bool(self.status())
        except _native.NativeError:
            return False


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
