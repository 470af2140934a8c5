"""What of a snapshot is worth a look: states that are wrong, and values over their thresholds."""

from collections.abc import Iterator, Mapping
from typing import Final

from pegaflow.models import Blocks
from pegaflow.observe.snapshot import Alert, Snapshot
from pegaflow.observe.thresholds import Threshold
from pegaflow.units import format_duration

_NOT_DROPS: Final = ("present",)
"""Reasons for not writing a block to ssd that lose nothing."""


def alerts(snapshot: Snapshot, thresholds: Mapping[str, Threshold]) -> list[Alert]:
    """Every alert, the worst first."""
    found = [*_states(snapshot), *_values(snapshot, thresholds)]
    return sorted(found, key=lambda alert: alert.level != "critical")


def adds_up(blocks: Blocks) -> bool:
    """Whether the tiers and the misses are what was asked for."""
    return blocks.memory + blocks.ssd + blocks.remote + blocks.miss == blocks.requested


def _states(snapshot: Snapshot) -> Iterator[Alert]:
    daemon = snapshot.daemon
    if daemon.state == "degraded":
        # A tier that is offline is told below.
        told = [tier.name for tier in snapshot.tiers if tier.state == "offline"]
        others = [why for why in daemon.reasons if not any(name in why for name in told)]
        if others or not told:
            text = "; ".join(others) or "the daemon is degraded"
            yield Alert("critical", "tiers", "daemon", text)
    if daemon.state == "draining":
        yield Alert("warning", "tiers", "daemon", "the daemon drains and ends")
    for tier in snapshot.tiers:
        if tier.state == "offline":
            yield Alert("critical", "tiers", tier.name, f"{tier.name} is offline: {tier.reason}")
        elif tier.state == "degraded":
            yield Alert("warning", "tiers", tier.name, f"{tier.name} is degraded: {tier.reason}")
    for text in snapshot.shortages:
        yield Alert("warning", "tiers", "room", text)
    if not adds_up(snapshot.blocks):
        text = "memory + ssd + remote + miss is not what was asked for: the daemon miscounts"
        yield Alert("critical", "hits", "blocks", text)
    for engine in snapshot.engines:
        if engine.stale:
            text = (
                f"{engine.engine_id} has {engine.registered_workers} of {engine.workers} workers "
                f"after {format_duration(engine.attached_s)}"
            )
            yield Alert("warning", "engines", engine.engine_id, text)


def _values(snapshot: Snapshot, thresholds: Mapping[str, Threshold]) -> Iterator[Alert]:
    for name, panel, value in _measures(snapshot):
        threshold = thresholds[name]
        level = threshold.level(value)
        if level != "ok" and value is not None:
            limit = threshold.critical if level == "critical" else threshold.warning
            text = f"{name} is {_number(value)} {threshold.unit}, from {_number(limit)} on {level}"
            yield Alert(level, panel, name, text)


def _measures(snapshot: Snapshot) -> Iterator[tuple[str, str, float | None]]:
    yield from _states_measured(snapshot)
    # What was counted since the daemon's start may be long over.
    if not snapshot.window.since_start:
        yield from _window_measured(snapshot)


def _states_measured(snapshot: Snapshot) -> Iterator[tuple[str, str, float | None]]:
    """What is so now."""
    leases = snapshot.leases
    pool = next(tier for tier in snapshot.tiers if tier.tier == "memory")
    ssd = [tier for tier in snapshot.tiers if tier.tier == "ssd"]
    capacity = sum(tier.capacity_bytes for tier in ssd)
    yield "corrupt", "events", snapshot.integrity.corrupt_blocks
    leased = 100 * leases.bytes / pool.capacity_bytes if pool.capacity_bytes else None
    yield "leased", "leases", leased
    yield "lease-age", "leases", leases.oldest_s
    yield "memory", "tiers", 100 * pool.used_share
    yield "ssd", "tiers", 100 * sum(one.used_bytes for one in ssd) / capacity if capacity else None


def _window_measured(snapshot: Snapshot) -> Iterator[tuple[str, str, float | None]]:
    """What happened in the window."""
    blocks = snapshot.window_blocks
    p99_ms = {
        latency.name: None if latency.p99_s is None else latency.p99_s * 1e3
        for latency in snapshot.latencies
    }
    unwritten = snapshot.queues.unwritten.items()
    yield "failures", "throughput", sum(flow.failures for flow in snapshot.flows)
    yield "load-p99", "latency", p99_ms.get("load")
    yield "lookup-p99", "latency", p99_ms.get("lookup")
    yield "miss", "hits", 100 * blocks.miss / blocks.requested if blocks.requested else None
    yield "no-space", "queues", snapshot.queues.no_space
    dropped = sum(count for reason, count in unwritten if reason not in _NOT_DROPS)
    yield "unwritten", "queues", dropped


def _number(value: float | None) -> str:
    return "0" if value is None else f"{value:,.1f}".removesuffix(".0")
