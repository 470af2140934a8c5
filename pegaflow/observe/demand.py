"""What a snapshot says of misses, evictions and what blocks are worth."""

from collections.abc import Iterator
from typing import Final

from pegaflow.models import Status
from pegaflow.observe.counters import Delta
from pegaflow.observe.histogram import EMPTY
from pegaflow.observe.snapshot import Advice, Ages, Ceiling, Evictions, Misses, Prefix

LOST: Final = ("room", "page_size", "resize", "quota", "request", "corrupt", "behind")
"""Reasons for misses of blocks that were cached."""


def misses(status: Status, delta: Delta) -> Misses:
    """Why blocks were missed."""
    reasons = {one.reason: delta.count(f"missed/{one.reason}") for one in status.demand.missed}
    return Misses(
        reasons=reasons,
        lost=sum(reasons.get(reason, 0) for reason in LOST),
        ghost_hits={
            f"{ghost.pool_times:g}": delta.count(f"ghost/{ghost.pool_times:g}")
            for ghost in status.demand.ghost_hits
        },
    )


def ceilings(status: Status) -> Iterator[Ceiling]:
    """What an endless cache would have hit."""
    for of in status.demand.ceilings:
        again = of.requested_blocks - of.distinct_blocks
        share = again / of.requested_blocks if of.requested_blocks else None
        yield Ceiling(of.window_s, of.requested_blocks, share)


def evictions(status: Status, delta: Delta) -> Evictions:
    """What left."""
    reasons = [evicted.reason for evicted in status.demand.evicted]
    return Evictions(
        memory_blocks=delta.count("evictions"),
        memory_per_s=delta.rate("evictions"),
        ssd_blocks=delta.count("ssd/evicted_blocks"),
        admissions=delta.count("admissions"),
        kept_blocks=delta.count("pegaflow_ssd_kept_blocks_total"),
        reasons={reason: delta.count(f"evicted/{reason}") for reason in reasons},
        unfound_blocks=delta.count("evicted-unfound"),
        residence=_ages(delta, "residence"),
        idle=_ages(delta, "idle"),
    )


def prefixes(status: Status) -> Iterator[Prefix]:
    """Those that are asked for most."""
    for hot in status.hot_prefixes:
        lookups = hot.lookups - hot.overrated_lookups
        share = min(hot.found_lookups / lookups, 1.0) if lookups else 0.0
        yield Prefix(hot.namespace, hot.block_hash, hot.blocks, lookups, share)


def advice(status: Status) -> Advice:
    """What blocks are worth, and how large a pool should be."""
    restore, what_if = status.restore, status.what_if
    if what_if is not None and what_if.is_early(status.cached_blocks):
        what_if = None
    return Advice(
        recompute_block_s=restore.recompute_block_s,
        memory_block_s=restore.memory_block_s,
        ssd_block_s=restore.ssd_block_s,
        suggested_pool_bytes=None if what_if is None else what_if.suggested_pool_bytes,
    )


def _ages(delta: Delta, what: str) -> Ages:
    histogram = delta.histograms.get(what, EMPTY)
    p50, p95, p99 = (histogram.quantile_s(share) for share in (0.5, 0.95, 0.99))
    return Ages(p50, p95, p99)
