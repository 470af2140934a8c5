"""What happened between two snapshots: a log that needs nothing but samples."""

from collections.abc import Iterator
from dataclasses import dataclass

from pegaflow.observe.snapshot import Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.units import format_duration


@dataclass(frozen=True)
class Event:
    """Something that happened by ``at`` (seconds since 1970, UTC)."""

    at: float
    level: Level
    text: str


def events(before: Snapshot | None, after: Snapshot) -> Iterator[Event]:
    """What happened between a snapshot and the next, whose window is the time between them."""
    at = after.at
    if before is None:
        daemon = after.daemon
        age = format_duration(daemon.uptime_s)
        yield Event(at, "ok", f"daemon {daemon.pid} is {daemon.state}, up {age}")
        return
    if after.window.restarted:
        boots = f"{before.daemon.boot_id} ended, {after.daemon.boot_id} began"
        yield Event(at, "warning", f"the daemon restarted: {boots}")
    if before.daemon.state != after.daemon.state:
        level: Level = "critical" if after.daemon.state == "degraded" else "ok"
        yield Event(at, level, f"the daemon is {after.daemon.state}, was {before.daemon.state}")
    yield from _tiers(before, after)
    yield from _engines(before, after)
    yield from _counts(before, after)


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


def _counts(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    corrupt = after.integrity.corrupt_blocks
    if not after.window.restarted:
        corrupt -= before.integrity.corrupt_blocks
    if corrupt > 0:
        yield Event(after.at, "critical", f"{corrupt:,} corrupt blocks dropped")
    for flow in after.flows:
        if flow.failures:
            yield Event(after.at, "warning", f"{flow.failures:,} failed: {flow.name}")
    if after.queues.no_space:
        yield Event(after.at, "warning", f"{after.queues.no_space:,} reservations found no room")
    for reason, text in (("expired", "expired"), ("owner_ended", "ended with their engine")):
        if count := after.leases.ended.get(reason, 0):
            yield Event(after.at, "warning", f"{count:,} leases {text}")
