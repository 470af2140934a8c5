"""What the live view takes of the machine, while every number that it shows changes."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pegaflow.observe.scripted import ScriptedSource
from tests.bench.rows import Row
from tests.cli.installed import BIN
from tests.observe.http_daemon import http_daemon
from tests.tui.terminal import Terminal

_WARM_S: Final = 10.0
"""Until what is done once is done."""

_SECONDS: Final = 60.0
_TARGET: Final = 1.0


def rows() -> Iterator[Row]:
    """Parts of a core at one reading a second of one daemon, by the terminal's size."""
    now = time.time()
    with http_daemon(ScriptedSource("gpu-1", time.time, now, engines=8)) as url:
        for size in ((80, 24), (120, 40), (200, 60)):
            percent = _percent(url, size)
            yield Row(
                f"top, one daemon at 1 s, {size[0]}x{size[1]}", percent, "% of a core", _TARGET
            )


def _percent(url: str, size: tuple[int, int]) -> float:
    command = [str(BIN / "pegaflow"), "top", "--url", url]
    terminal = Terminal(command, os.environ, size=size)
    try:
        terminal.wait_for("every 1 s")
        terminal.read_for(_WARM_S)
        before, began = _cpu_s(terminal.process.pid), time.monotonic()
        terminal.read_for(_SECONDS)
        used, passed = _cpu_s(terminal.process.pid) - before, time.monotonic() - began
        terminal.press("q")
        terminal.wait_end()
    finally:
        terminal.close()
    return round(100 * used / passed, 2)


def _cpu_s(pid: int) -> float:
    """Seconds that all threads of a process have run, in user code and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
