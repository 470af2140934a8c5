"""Several daemons as one document."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from pegaflow.models import Blocks
from pegaflow.observe.snapshot import Snapshot

SCHEMA: Final = "pegaflow.top/1"


@dataclass(frozen=True)
class Unanswered:
    """A daemon that gave no sample."""

    host: str
    error: str


def sum_of_blocks(snapshots: Sequence[Snapshot]) -> Blocks:
    """Blocks asked for of all daemons since their starts."""
    return _sum([snapshot.blocks for snapshot in snapshots])


def window_blocks(snapshots: Sequence[Snapshot]) -> Blocks:
    """Blocks asked for of all daemons in their windows."""
    return _sum([snapshot.window_blocks for snapshot in snapshots])


def document(
    at: float, snapshots: Sequence[Snapshot], unanswered: Sequence[Unanswered] = ()
) -> dict[str, Any]:
    """The ``top`` document: totals, each daemon, and those that did not answer."""
    return {
        "schema": SCHEMA,
        "at": at,
        "blocks": asdict(sum_of_blocks(snapshots)),
        "window_blocks": asdict(window_blocks(snapshots)),
        "hosts": [snapshot.document() for snapshot in snapshots],
        "unanswered": [asdict(one) for one in unanswered],
    }


def _sum(counts: Sequence[Blocks]) -> Blocks:
    names = ("requested", "memory", "ssd", "remote", "miss")
    return Blocks(**{name: sum(getattr(one, name) for one in counts) for name in names})
