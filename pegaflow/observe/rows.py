"""A snapshot as one row of numbers, for spreadsheets."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from pegaflow.observe.fleet import Unanswered
from pegaflow.observe.snapshot import Flow, Latency, Snapshot, Tier

Cell = str | int | float | None


def _flow(name: str, field: str) -> Callable[[Snapshot], Cell]:
    def value(snapshot: Snapshot) -> Cell:
        found: Flow | None = next((flow for flow in snapshot.flows if flow.name == name), None)
        return None if found is None else _cell(getattr(found, field))

    return value


def _latency(name: str, field: str) -> Callable[[Snapshot], Cell]:
    def value(snapshot: Snapshot) -> Cell:
        found: Latency | None = next(
            (latency for latency in snapshot.latencies if latency.name == name), None
        )
        seconds = None if found is None else getattr(found, field)
        return None if seconds is None else round(seconds * 1e3, 4)

    return value


def _cell(value: float) -> Cell:
    return value if isinstance(value, int) else round(value, 3)


def _tiers(snapshot: Snapshot, tier: str) -> Sequence[Tier]:
    return [part for part in snapshot.tiers if part.tier == tier]


CSV: Final[Mapping[str, Callable[[Snapshot], Cell]]] = {
    "time": lambda snapshot: iso_time(snapshot.at),
    "host": lambda snapshot: snapshot.host,
    "state": lambda snapshot: snapshot.daemon.state,
    "boot_id": lambda snapshot: snapshot.daemon.boot_id,
    "uptime_s": lambda snapshot: round(snapshot.daemon.uptime_s, 3),
    "window_s": lambda snapshot: round(snapshot.window.seconds, 3),
    "restarted": lambda snapshot: int(snapshot.window.restarted),
    "requested": lambda snapshot: snapshot.window_blocks.requested,
    "memory": lambda snapshot: snapshot.window_blocks.memory,
    "ssd": lambda snapshot: snapshot.window_blocks.ssd,
    "remote": lambda snapshot: snapshot.window_blocks.remote,
    "miss": lambda snapshot: snapshot.window_blocks.miss,
    "miss_new": lambda snapshot: snapshot.misses.new,
    "miss_lost": lambda snapshot: snapshot.misses.lost,
    "ghost_hits_2x": lambda snapshot: snapshot.misses.ghost_hits.get("2"),
    "ceiling_1h_percent": lambda snapshot: next(
        (
            None if ceiling.hit_share is None else round(100 * ceiling.hit_share, 2)
            for ceiling in snapshot.ceilings
            if ceiling.window_s == 3600
        ),
        None,
    ),
    "memory_used_bytes": lambda snapshot: sum(
        part.used_bytes for part in _tiers(snapshot, "memory")
    ),
    "memory_capacity_bytes": lambda snapshot: sum(
        part.capacity_bytes for part in _tiers(snapshot, "memory")
    ),
    "ssd_used_bytes": lambda snapshot: sum(part.used_bytes for part in _tiers(snapshot, "ssd")),
    "ssd_capacity_bytes": lambda snapshot: sum(
        part.capacity_bytes for part in _tiers(snapshot, "ssd")
    ),
    "save_bytes_per_s": _flow("save", "bytes_per_s"),
    "load_bytes_per_s": _flow("load", "bytes_per_s"),
    "ssd_read_bytes_per_s": _flow("ssd read", "bytes_per_s"),
    "ssd_write_bytes_per_s": _flow("ssd write", "bytes_per_s"),
    "lookup_p99_ms": _latency("lookup", "p99_s"),
    "save_p99_ms": _latency("save", "p99_s"),
    "load_p50_ms": _latency("load", "p50_s"),
    "load_p99_ms": _latency("load", "p99_s"),
    "failures": lambda snapshot: sum(flow.failures for flow in snapshot.flows),
    "evictions": lambda snapshot: snapshot.evictions.memory_blocks,
    "no_space": lambda snapshot: snapshot.queues.no_space,
    "leases": lambda snapshot: snapshot.leases.held,
    "leased_bytes": lambda snapshot: snapshot.leases.bytes,
    "engines": lambda snapshot: len(snapshot.engines),
    "alerts": lambda snapshot: len(snapshot.alerts),
    "reason": lambda snapshot: "; ".join(snapshot.daemon.reasons) or None,
}
"""The columns of ``--csv``; counts are of the window, and bytes are those that there are now."""


def csv_row(snapshot: Snapshot) -> list[Cell]:
    """The values of a snapshot, by ``CSV``."""
    return [value(snapshot) for value in CSV.values()]


def csv_gap(unanswered: Unanswered, at: float) -> list[Cell]:
    """The row of a daemon that did not answer: it says why, and all numbers are empty."""
    known: dict[str, Cell] = {
        "time": iso_time(at),
        "host": unanswered.host,
        "state": "unanswered",
        "reason": unanswered.error,
    }
    return [known.get(column) for column in CSV]


FLOWS: Final = ("save", "load")
"""The flows between engines and the cache."""


def percent(share: float | None) -> str:
    """A part as a percentage; ``-`` for none of nothing.

    >>> percent(0.756), percent(None)
    ('76%', '-')
    """
    return "-" if share is None else f"{share:.0%}"


def iso_time(at: float) -> str:
    """A time in UTC.

    >>> iso_time(1700000000.25)
    '2023-11-14T22:13:20.250Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
