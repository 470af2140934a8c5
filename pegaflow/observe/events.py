"""What happened between two snapshots, from the daemon's log and from what changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegaflow.event_models import LoggedEvent
from pegaflow.observe.snapshot import Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.units import format_duration

_LEVELS: Final[Mapping[str, Level]] = {"ok": "ok", "warning": "warning", "critical": "critical"}


@dataclass(frozen=True)
class Event:
    """Something that happened by ``at`` (seconds since 1970, UTC)."""

    at: float
    level: Level
    text: str


def events(
    before: Snapshot | None, after: Snapshot, logged: Sequence[LoggedEvent] | None = None
) -> Iterator[Event]:
    """What happened between a snapshot and the next, whose window is the time between them.

    ``logged`` is what the daemon's own log has of that time; without a log, states, tiers and
    engines are compared. What the log does not have is counted anyway.
    """
    at = after.at
    for one in logged or ():
        yield Event(one.at, _LEVELS.get(one.level, "warning"), one.text)
    if before is None:
        daemon = after.daemon
        age = format_duration(daemon.uptime_s)
        yield Event(at, "ok", f"daemon {daemon.pid} is {daemon.state}, up {age}")
        return
    if after.window.restarted:
        boots = f"{before.daemon.boot_id} ended, {after.daemon.boot_id} began"
        yield Event(at, "warning", f"the daemon restarted: {boots}")
    if logged is None:
        yield from _states(before, after)
        yield from _tiers(before, after)
        yield from _engines(before, after)
        yield from _dropped(before, after)
    yield from _counts(after)


def _states(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    if before.daemon.state != after.daemon.state:
        level: Level = "critical" if after.daemon.state == "degraded" else "ok"
        text = f"the daemon is {after.daemon.state}, was {before.daemon.state}"
        yield Event(after.at, level, text)


def _tiers(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    old = {tier.name: tier for tier in before.tiers}
    new = {tier.name: tier for tier in after.tiers}
    for name in new.keys() - old.keys():
        yield Event(after.at, "ok", f"{name} joined the {new[name].tier} tier")
    for name in old.keys() - new.keys():
        yield Event(after.at, "warning", f"{name} left the {old[name].tier} tier")
    for name, tier in new.items():
        if name not in old:
            continue
        if tier.state != old[name].state:
            level: Level = "critical" if tier.state == "offline" else "ok"
            why = f": {tier.reason}" if tier.reason else ""
            yield Event(after.at, level, f"{name} is {tier.state}, was {old[name].state}{why}")
        if tier.capacity_bytes != old[name].capacity_bytes:
            yield Event(after.at, "ok", f"{name} has another capacity")


def _engines(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    old = {engine.engine_id: engine for engine in before.engines}
    new = {engine.engine_id: engine for engine in after.engines}
    for name, engine in new.items():
        if name not in old:
            yield Event(after.at, "ok", f"engine {name[:12]} attached ({engine.model})")
        elif engine.registered_workers != old[name].registered_workers:
            workers = f"{engine.registered_workers} of {engine.workers} workers"
            yield Event(after.at, "ok", f"engine {name[:12]} has {workers}")
    for name, engine in old.items():
        if name not in new:
            yield Event(after.at, "warning", f"engine {name[:12]} left ({engine.model})")


def _dropped(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    corrupt = after.integrity.corrupt_blocks
    if not after.window.restarted:
        corrupt -= before.integrity.corrupt_blocks
    if corrupt > 0:
        yield Event(after.at, "critical", f"{corrupt:,} corrupt blocks dropped")


def _counts(after: Snapshot) -> Iterator[Event]:
    for flow in after.flows:
        if flow.failures:
            yield Event(after.at, "warning", f"{flow.failures:,} failed: {flow.name}")
    if after.queues.no_space:
        yield Event(after.at, "warning", f"{after.queues.no_space:,} reservations found no room")
    for reason, text in (("expired", "expired"), ("owner_ended", "ended with their engine")):
        if count := after.leases.ended.get(reason, 0):
            yield Event(after.at, "warning", f"{count:,} leases {text}")
