"""The copy engine alone, against memcpy: runs ``native/core/benches/host_copy.rs``."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.bench.rows import Row

_NATIVE: Final = Path(__file__).resolve().parents[2] / "native"
_COMMAND: Final = ("cargo", "bench", "--locked", "-p", "pegaflow-core", "--bench", "host_copy")
_BEST_THREADS: Final = 2


@dataclass(frozen=True)
class CopyEngine:
    """The lines that the benchmark printed."""

    lines: Sequence[Mapping[str, Any]]

    def rate(self, direction: str) -> float:
        """GB/s of ``"save"`` or ``"load"`` with two threads and memory that begins a page."""
        measured = (f"host_{direction}_{_BEST_THREADS}_threads", 0)
        return next(
            float(line["value"])
            for line in self.lines
            if (line["name"], line["engine_offset"]) == measured
        )

    def rows(self) -> Iterator[Row]:
        """Rates, and their share of memcpy with its target."""
        for line in self.lines:
            name = f"{line['name']}, {line['engine_offset']} bytes into a page".replace("_", " ")
            yield Row(name, line["value"], line["unit"])
            if "share_of_memcpy" in line:
                share, target = (round(100 * line[key], 1) for key in ("share_of_memcpy", "target"))
                yield Row(f"{name}, share of memcpy", share, "%", target, "least")


def measure() -> CopyEngine:
    """Build and run the benchmark."""
    output = subprocess.check_output(_COMMAND, cwd=_NATIVE, encoding="utf-8")
    return CopyEngine([json.loads(line) for line in output.splitlines() if line.startswith("{")])
