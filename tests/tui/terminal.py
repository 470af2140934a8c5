"""A command on a pseudo-terminal, and what it shows there."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Final

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|.)"
)
_SECONDS: Final = 60.0


class Terminal:
    """A process whose input and output are a terminal, at first of 120 columns and 60 lines."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        kind: str = "xterm-256color",
        size: tuple[int, int] = (120, 60),
    ) -> None:
        self._own, other = pty.openpty()
        self.resize(size)
        self._modes = termios.tcgetattr(self._own)
        self.process = subprocess.Popen(
            command,
            env={**_without_a_size(environ), "TERM": kind, "PYTHONUTF8": "1"},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self._written = ""
        self.seen = ""
        """All that it has written, with its escape sequences."""

    def wait_for(self, text: str) -> None:
        """Wait until it has written ``text``, and forget all up to there."""
        deadline = time.monotonic() + _SECONDS
        while text not in (shown := _ESCAPES.sub("", self._written)):
            assert time.monotonic() < deadline, f"{text!r} is not in {shown[-4000:]!r}"
            self._read(0.5)
        self._written = ""

    def is_as_before(self) -> bool:
        """Whether its modes, such as echo, are those that it had before the process."""
        return termios.tcgetattr(self._own) == self._modes

    def resize(self, size: tuple[int, int]) -> None:
        """Give the terminal so many columns and lines; the kernel tells the process."""
        columns, lines = size
        fcntl.ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read_for(self, seconds: float) -> None:
        """Take what it writes, so that it never waits for the terminal."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left)

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._own, keys.encode())

    def quit(self) -> int:
        """Close whatever is open, and quit: its exit code.

        Keys that come to it at once, as it is busy, are another key: it is asked until it ends.
        """
        deadline = time.monotonic() + _SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not quit"
            for key in "\x1bq":
                self.press(key)
                self.read_for(0.3)
        return self.wait_end()

    def wait_end(self) -> int:
        """Its exit code."""
        deadline = time.monotonic() + _SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            self._read(0.1)
        while self._read(0.0):
            pass
        return self.process.returncode

    def close(self) -> None:
        """End it, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)

    def _read(self, seconds: float) -> bool:
        """Take what comes in that time; whether there was something."""
        if not select.select([self._own], [], [], seconds)[0]:
            return False
        try:
            read = os.read(self._own, 1 << 16).decode("utf-8", "replace")
        except OSError:
            # The other end is closed: the process ends.
            time.sleep(0.01)
            return False
        self._written += read
        self.seen += read
        return True


def _without_a_size(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` but for what goes before the terminal's own size."""
    return {name: text for name, text in environ.items() if name not in ("COLUMNS", "LINES")}
