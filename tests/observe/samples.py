"""Samples as daemons give them, with counts that a test chooses."""

import json
from typing import Any

from pegaflow.observe.sample import Sample
from pegaflow.observe.series import Series
from tests.cli.documents import status_document


def sample(metrics: str = "", at: float = 1_700_000_000.0, **changes: Any) -> Sample:
    """A sample with ``changes`` of the status document."""
    return Sample("here", at, json.dumps(status_document(**changes)), Series.of(metrics))


def blocks(memory: int, ssd: int, remote: int, miss: int) -> dict[str, int]:
    """Blocks asked for, as the status document has them."""
    requested = memory + ssd + remote + miss
    return {"requested": requested, "memory": memory, "ssd": ssd, "remote": remote, "miss": miss}


def histogram(metric: str, counts: dict[str, int], labels: str = "") -> str:
    """An exposition's lines of one histogram, from counts up to each bound."""
    lines = [f"# HELP {metric} Something.", f"# TYPE {metric} histogram"]
    for bound, count in counts.items():
        lines.append(f'{metric}_bucket{{le="{bound}"{labels}}} {count}')
    total = max(counts.values())
    joined = labels.removeprefix(",")
    tail = f"{{{joined}}}" if joined else ""
    return "\n".join([*lines, f"{metric}_sum{tail} 1.5", f"{metric}_count{tail} {total}", ""])
