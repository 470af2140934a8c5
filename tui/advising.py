"""What the numbers of a daemon suggest."""

from collections.abc import Iterator
from typing import Final

from pegaflow.observe.rows import percent
from pegaflow.observe.snapshot import Advice, Snapshot
from pegaflow.tui.drawing import counted, duration
from pegaflow.units import format_size

_LOST_SHARE: Final = 0.01
"""Of the blocks asked for; less is not worth a word."""


def advice(now: Snapshot) -> Iterator[str]:
    """Sentences, the most urgent first."""
    blocks, evictions = now.window_blocks, now.evictions
    if declined := now.queues.unfetched.get("declined", 0):
        yield f"{counted(declined, 'block')} computed, not fetched from ssd: that was faster"
    lost = now.misses.lost / blocks.requested if blocks.requested else 0.0
    if evictions.memory_blocks and lost >= _LOST_SHARE:
        yield f"{percent(lost)} of blocks asked for were lost: {_larger(now)}"
    if worth := _worth(now.advice):
        yield worth


def _worth(known: Advice) -> str | None:
    """Whether it pays to bring a block back, by tier."""
    compute_s = known.recompute_block_s
    took = {"memory": known.memory_block_s, "ssd": known.ssd_block_s}
    times = {tier: took_s for tier, took_s in took.items() if took_s is not None}
    if compute_s is None or not times:
        return None
    slow = [tier for tier, took_s in times.items() if took_s > compute_s]
    told = ", ".join(f"{tier} {duration(took_s)}" for tier, took_s in times.items())
    pays = f"{' and '.join(slow)} not worth it" if slow else "worth it"
    return f"compute {duration(compute_s)} a block, {told}: {pays}"


def _larger(now: Snapshot) -> str:
    pool = next(tier for tier in now.tiers if tier.tier == "memory")
    suggested = now.advice.suggested_pool_bytes or 0
    if suggested > pool.capacity_bytes:
        return f"{format_size(suggested)} would keep most under {now.daemon.policy}"
    return "`pegaflow plan` says what more is worth"
