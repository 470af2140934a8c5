"""Progress on a terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.environment import bare

PATIENCE_S = 60.0


class InTerminal:
    """A process whose standard error is a terminal; ``seen`` is what came there."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.endless_warming"],
            cwd=Path(__file__).parents[2],
            env=bare() | dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        self.seen = ""

    def wait_for(self, pattern: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self.seen):
            assert time.monotonic() < deadline, self.seen
            self._read()

    def end(self) -> str:
        """What it wrote to standard output by its end."""
        assert self.process.stdout is not None
        out = self.process.stdout.read().decode()
        self.process.wait(PATIENCE_S)
        while self._read():
            pass
        return out

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._ours)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], 0.1)
        try:
            self.seen += os.read(self._ours, 65536).decode() if ready else ""
        except OSError:
            # A terminal that nobody has open any more is an error in Linux.
            return False
        return bool(ready)


@pytest.fixture
def warming() -> Iterator[InTerminal]:
    terminal = InTerminal({"TERM": "xterm-256color", "COLUMNS": "120"})
    yield terminal
    terminal.close()


def test_a_bar_shows_rate_and_time_left_and_goes_at_the_end(warming: InTerminal) -> None:
    warming.wait_for(r"warm .*\d+%.* MiB of 1 TiB, .*iB/s, .* left")
    warming.process.send_signal(signal.SIGINT)
    out = warming.end()
    assert warming.process.returncode == 130
    assert "pegaflow: warm: ending it; Ctrl-C once more leaves at once" in warming.seen
    assert re.fullmatch(r"interrupted: \d+ blocks \(\d+ MiB\) loaded within .*\n", out)
    # The line of the bar is erased, and the cursor is visible again.
    assert "\x1b[2K" in warming.seen
    assert warming.seen.rindex("\x1b[?25h") > warming.seen.rindex("\x1b[?25l")


def test_colours_are_left_out_where_they_are_not_wanted() -> None:
    terminal = InTerminal({"TERM": "xterm-256color", "COLUMNS": "120", "NO_COLOR": "1"})
    try:
        terminal.wait_for(r"iB/s, .* left")
        assert not re.search(r"\x1b\[3\d", terminal.seen)
    finally:
        terminal.close()
