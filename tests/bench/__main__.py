"""Measure everything and write the rows, also when targets are missed; missed ones are named."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.bench import (
    copy_engine,
    footprint,
    lookups,
    machine,
    ping,
    scheduler_hold,
    ssd,
    startup,
    take_over,
    top,
    transfers,
    watching,
)
from tests.bench.rows import Row

_PARTS: Final[Mapping[str, Callable[[], Iterable[Row]]]] = {
    "machine": machine.rows,
    "startup": startup.rows,
    "ping": ping.rows,
    "lookups": lookups.rows,
    "scheduler-hold": scheduler_hold.rows,
    "footprint": footprint.rows,
    "watching": watching.rows,
    "take-over": take_over.rows,
    "ssd": ssd.rows,
    "top": top.rows,
    "copies": lambda: _copies(),
}


def _copies() -> Iterable[Row]:
    alone = copy_engine.measure()
    yield from alone.rows()
    yield from transfers.rows(alone.rate("save"), alone.rate("load"))


def main() -> int:
    """Run the parts; the exit code is 0 whatever they measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench.json"), help="where rows go")
    parser.add_argument("--only", choices=_PARTS, action="append", help="measure this part")
    parsed = parser.parse_args()
    console = Console(stderr=True)
    rows: list[Row] = []
    for name in parsed.only or _PARTS:
        console.print(f"measuring: {name}")
        rows += _PARTS[name]()
    documents = [row.document() for row in rows]
    parsed.out.write_text(json.dumps(documents, indent=1) + "\n", encoding="utf-8")
    Console().print(_table(rows))
    return 0


def _table(rows: Iterable[Row]) -> Table:
    table = Table()
    for column in ("name", "value", "unit", "target", "met"):
        table.add_column(column, justify="right" if column in ("value", "target") else "left")
    for row in rows:
        sign = "≤" if row.bound == "most" else "≥"
        target = "" if row.target is None else f"{sign} {row.target:g}"
        met = {None: "", True: "yes", False: "[red]no[/]"}[row.met]
        table.add_row(row.name, str(row.value), row.unit, target, met)
    return table


if __name__ == "__main__":
    sys.exit(main())
