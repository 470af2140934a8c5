"""How long the command line takes to start, and what the connector's import brings with it."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pegaflow.bench.figures import median
from tests.bench.rows import Row
from tests.engine.daemon import PEGAFLOW

_ROUNDS = 15
_HELP_MS = 250.0
_OVER_TYPER_MS = 100.0
_TWO_COMMANDS = Path(__file__).with_name("two_commands.py")
_HEAVY = ("typer", "rich", "textual")
_LOADED_BY_CONNECTOR = f"""
import sys
from pegaflow.connector import PegaKVConnector
print(sum(name in sys.modules for name in {_HEAVY!r}))
"""


def rows() -> Iterator[Row]:
    """The two programs take turns, so that a busy moment meets both."""
    ours, theirs = [], []
    for _ in range(_ROUNDS):
        ours.append(_run_ms([*PEGAFLOW, "--help"]))
        theirs.append(_run_ms([sys.executable, str(_TWO_COMMANDS), "--help"]))
    yield Row("pegaflow --help", median(ours), "ms", _HELP_MS)
    yield Row("--help of a Typer program with two commands", median(theirs), "ms")
    over = round(median(ours) - median(theirs), 1)
    yield Row("pegaflow --help above that program", over, "ms", _OVER_TYPER_MS)
    loaded = subprocess.check_output([sys.executable, "-c", _LOADED_BY_CONNECTOR], encoding="utf-8")
    yield Row(f"of {', '.join(_HEAVY)}, loaded by the connector", int(loaded), "packages", 0)


def _run_ms(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - began)
