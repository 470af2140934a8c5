"""A child process with all that it starts: one session, one log file, ended by pidfd."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.engine.closing import Closing

_LOG_TAIL_BYTES: Final = 6000


class ProcessTree(Closing):
    """A command that leads a session of its own; its output goes to ``log``.

    It runs in the log's directory, so that no Python in it imports from the checkout.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.command = list(command)
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                self.command,
                env=dict(environment),
                cwd=log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The pid of the command itself."""
        return self._process.pid

    def has_ended(self) -> bool:
        """Whether the command itself has ended; what it started may live on."""
        return self._process.poll() is not None

    def log_tail(self) -> str:
        """The last lines of the log, for the text of a failure."""
        text = self.log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")
        return f"--- end of {self.log.name} ---\n{text}"

    def members(self) -> list[int]:
        """The pids of all living processes of the session."""
        return [pid for pid in _all_pids() if _session_of(pid) == self.pid]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the tree."""
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self, seconds: float = 30.0) -> int:
        """SIGKILL every process of the tree; returns how many, once all of them have ended.

        Raises ``TimeoutError`` when one outlives ``seconds``.
        """
        deadline = time.monotonic() + seconds
        killed = 0
        while pids := self.members():
            killed += sum(_kill_and_wait(pid, self.pid, deadline) for pid in pids)
            self._process.poll()
        self._process.wait()
        return killed

    def terminate(self, seconds: float) -> int:
        """SIGTERM the command and return its exit code.

        Raises ``subprocess.TimeoutExpired`` when it outlives ``seconds``.
        """
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(seconds)

    def close(self) -> None:
        """As ``kill``."""
        self.kill()


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _session_of(pid: int) -> int | None:
    try:
        after_name = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, session = after_name[0], int(after_name[3])
    return None if state in "ZX" else session


def _kill_and_wait(pid: int, session: int, deadline: float) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if _session_of(pid) != session:
            return False
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        readable, _, _ = select.select([pidfd], [], [], max(0.0, deadline - time.monotonic()))
        if not readable:
            raise TimeoutError(f"process {pid} outlives its SIGKILL")
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)
