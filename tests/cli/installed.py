"""The installed commands, run as processes against real daemons."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.engine.waiting import wait_until
from tests.environment import bare

BIN: Final = Path(sys.executable).parent
_SECONDS: Final = 60.0


class Host:
    """A directory that stands in for a host: its settings, its socket, and the daemons on it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.socket = directory / "daemon.sock"
        self.environ = bare() | {
            "HOME": str(directory),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "PEGAFLOW_SOCKET": str(self.socket),
            "PEGAFLOW_POOL_SIZE": "16MiB",
        }
        self._daemons = list[subprocess.Popen[str]]()

    def run(
        self,
        *args: str,
        program: str = "pegaflow",
        environ: Mapping[str, str] | None = None,
        around: Sequence[str] = (),
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end; ``around`` is a command that runs it."""
        return subprocess.run(
            [*around, str(BIN / program), *args],
            env=self.environ | dict(environ or {}),
            capture_output=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )

    def serve(self, *args: str, program: str = "pegaflow") -> "subprocess.Popen[str]":
        """Start a daemon in the foreground; returns when it has said its line, or has ended."""
        command = [str(BIN / program), *(["serve"] if program == "pegaflow" else []), *args]
        with (self.directory / "stderr").open("w", encoding="utf-8") as stderr:
            daemon = subprocess.Popen(
                command, env=self.environ, stdout=subprocess.PIPE, stderr=stderr, encoding="utf-8"
            )
        self._daemons.append(daemon)
        assert daemon.stdout is not None
        line = daemon.stdout.readline()
        assert line, (self.directory / "stderr").read_text(encoding="utf-8")
        return daemon

    def start(self, *args: str) -> "subprocess.Popen[str]":
        """Start a command and return at once."""
        return subprocess.Popen(
            [str(BIN / "pegaflow"), *args],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def status(self) -> dict[str, Any]:
        """The daemon's status."""
        done = self.run("status", "--json")
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def close(self) -> None:
        """End every daemon on it."""
        self.run("stop", "--purge", "--timeout", "5s")
        for daemon in self._daemons:
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGKILL)
            daemon.communicate()


def wait_ended(pid: int) -> None:
    """Wait until a process that is not this one's child is gone."""
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), f"process {pid} has ended", _SECONDS)
