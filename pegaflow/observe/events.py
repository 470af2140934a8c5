"""What happened between two snapshots, from the daemon's log and from what changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegaflow.event_models import LoggedEvent
from pegaflow.observe.snapshot import Engine, Namespace, Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.units import format_duration, format_size

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
    if not after.window.restarted:
        yield from _sizes(before, after)
        yield from _quotas(before, after)
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


def _engines(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    """Several engines may have one id: how many there are of it tells whether one came or left."""
    old, new = _by_id(before.engines), _by_id(after.engines)
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name, []), new.get(name, [])
        if len(now) > len(was):
            yield Event(after.at, "ok", f"engine {name[:12]} attached ({now[-1].model})")
        elif len(now) < len(was):
            yield Event(after.at, "warning", f"engine {name[:12]} left ({was[-1].model})")
        elif _workers(was) != _workers(now):
            workers = f"{_workers(now)} of {sum(engine.workers for engine in now)} workers"
            yield Event(after.at, "ok", f"engine {name[:12]} has {workers}")


def _by_id(engines: Iterable[Engine]) -> dict[str, list[Engine]]:
    found: dict[str, list[Engine]] = {}
    for engine in engines:
        found.setdefault(engine.engine_id, []).append(engine)
    return found


def _workers(engines: Iterable[Engine]) -> int:
    return sum(engine.registered_workers for engine in engines)


def _dropped(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    corrupt = after.integrity.corrupt_blocks
    if not after.window.restarted:
        corrupt -= before.integrity.corrupt_blocks
    if corrupt > 0:
        yield Event(after.at, "critical", f"{corrupt:,} corrupt blocks dropped")


def _sizes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    """Tiers that were made larger or smaller; a log says that they were, not from what to what."""
    old = {tier.name: tier.capacity_bytes for tier in before.tiers}
    for tier in after.tiers:
        was = old.get(tier.name, tier.capacity_bytes)
        if was != tier.capacity_bytes:
            sizes = f"{format_size(tier.capacity_bytes)}, was {format_size(was)}"
            yield Event(after.at, "ok", f"{tier.name} holds {sizes}")


def _quotas(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    old = {space.namespace: space for space in before.namespaces}
    for space in after.namespaces:
        was, name = old.get(space.namespace, space), f"namespace {space.namespace[:12]}"
        if space.pinned != was.pinned:
            yield Event(after.at, "ok", f"{name} is {'pinned' if space.pinned else 'not pinned'}")
        if space.quota_bytes != was.quota_bytes:
            quotas = f"quota {_quota(space)}, was {_quota(was)}"
            yield Event(after.at, "ok", f"{name} has {quotas}")


def _quota(space: Namespace) -> str:
    return "none" if space.quota_bytes is None else format_size(space.quota_bytes)


def _counts(after: Snapshot) -> Iterator[Event]:
    for flow in after.flows:
        if flow.failures:
            yield Event(after.at, "warning", f"{flow.failures:,} failed: {flow.name}")
    if after.queues.no_space:
        yield Event(after.at, "warning", f"{after.queues.no_space:,} reservations found no room")
    for reason, text in (("expired", "expired"), ("owner_ended", "ended with their engine")):
        if count := after.leases.ended.get(reason, 0):
            yield Event(after.at, "warning", f"{count:,} leases {text}")
