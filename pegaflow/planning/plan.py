"""From a trace to hit rates by size and policy, and to a recommendation."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pegaflow.native import translated
from pegaflow.planning.rates import Loading
from pegaflow.planning.trace import Trace
from pegaflow.units import format_size

BELADY: Final = "belady"
"""The clairvoyant bound among the policies."""
_SIZES: Final = 20
_SMALLEST_PART: Final = 200
_SSD_TIMES: Final = (1, 2, 4, 8)
_ENOUGH: Final = 0.9
"""A size is recommended from which on more memory would give at most a tenth of the hits more."""


@dataclass(frozen=True)
class Point:
    """One size of a curve."""

    capacity_blocks: int
    hit_percent: float


@dataclass(frozen=True)
class Pools:
    """One shared pool against private ones of the same size together, under one policy."""

    instances: int
    policy: str
    capacity_blocks: int
    shared_percent: float
    round_robin_percent: float
    sticky_percent: float


@dataclass(frozen=True)
class Worth:
    """What the recommendation may say of bytes and time."""

    block_bytes: int | None = None
    loadings: Sequence[Loading] = ()


@dataclass(frozen=True)
class TierPoint:
    """One size of the ssd tier behind the recommended memory."""

    ssd_blocks: int
    memory_percent: float
    ssd_percent: float
    """Blocks that only the ssd tier had."""


@dataclass(frozen=True)
class Plan:
    """What a cache would be worth."""

    ceiling_percent: float
    """Hits of a cache that keeps everything."""
    curves: dict[str, list[Point]]
    pools: Pools
    tiers: list[TierPoint]
    """By size of the ssd tier, none first."""
    recommended_blocks: int
    recommendation: str


def capacities(trace: Trace) -> list[int]:
    """Sizes from a small part of the distinct blocks to all, each larger by the same factor."""
    most = max(trace.distinct_blocks, 1)
    least = max(most // _SMALLEST_PART, 1)
    steps = [least * (most / least) ** (step / (_SIZES - 1)) for step in range(_SIZES)]
    return sorted({round(step) for step in steps})


def make_plan(
    trace: Trace,
    sizes: Sequence[int],
    policy: str,
    instances: int,
    ssd_sizes: Sequence[int] = (),
    worth: Worth | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """The plan for these sizes in blocks.

    ``policy`` is what is recommended, and compared with private pools. ``ssd_sizes`` are of the
    ssd tier, by default some multiples of the recommended memory. ``progress`` is told what is
    counted next.
    """
    recorded, total = trace.recorded, max(trace.blocks, 1)
    threads = os.cpu_count() or 1

    def percent(hits: int) -> float:
        return round(100 * hits / total, 2)

    with translated():
        curves = {}
        for name in recorded.policies():
            progress(f"hits under {name}")
            counts = recorded.hits(name, sizes, threads)
            curves[name] = [
                Point(size, percent(hits)) for size, hits in zip(sizes, counts, strict=True)
            ]
        progress("hits of private pools")
        (ceiling,) = recorded.hits("lru", [max(trace.distinct_blocks, 1)], 1)
        best = recommended(curves[policy], percent(ceiling))
        shared = best.capacity_blocks
        pools = Pools(
            instances=instances,
            policy=policy,
            capacity_blocks=shared,
            shared_percent=best.hit_percent,
            round_robin_percent=percent(
                recorded.private_hits(policy, shared, instances, "round-robin")
            ),
            sticky_percent=percent(recorded.private_hits(policy, shared, instances, "sticky")),
        )
        tiers = []
        progress("hits of an ssd tier")
        for blocks in [0, *(ssd_sizes or _ssd_sizes(trace, shared))]:
            memory, ssd = recorded.tier_hits(policy, shared, blocks)
            tiers.append(TierPoint(blocks, percent(memory), percent(ssd)))
    sentence = _sentence(trace, curves, percent(ceiling), best, pools, worth or Worth())
    return Plan(percent(ceiling), curves, pools, tiers, shared, sentence)


def _ssd_sizes(trace: Trace, memory_blocks: int) -> list[int]:
    """Multiples of the memory, up to what holds all blocks."""
    most = max(trace.distinct_blocks, 1)
    return sorted({min(memory_blocks * times, most) for times in _SSD_TIMES})


def recommended(curve: Sequence[Point], ceiling_percent: float) -> Point:
    """The smallest size with nine tenths of what can be hit; the largest if none has."""
    for point in curve:
        if point.hit_percent >= _ENOUGH * ceiling_percent:
            return point
    return curve[-1]


def _sentence(
    trace: Trace,
    curves: dict[str, list[Point]],
    ceiling: float,
    best: Point,
    pools: Pools,
    worth: Worth,
) -> str:
    if ceiling < 1 and not trace.has_content:
        return (
            "whether a cache is worth it cannot be told: the trace has no content, so it does not "
            "say what its prompts share; suppose it with --shared-tokens, or record what engines "
            "look up with `pegaflow trace record`"
        )
    if ceiling < 1:
        return (
            f"an external cache is not worth it for this trace: only {ceiling:g}% of its blocks "
            "were asked for before"
        )
    memory = next((one for one in worth.loadings if one.tier == "memory"), None)
    if memory is not None and memory.gain <= 1:
        return (
            f"an external cache is not worth it on this machine: loading a token takes "
            f"{memory.load_us:g} us, computing it {memory.compute_us:g} us"
        )
    at = [point.capacity_blocks for point in curves[pools.policy]].index(best.capacity_blocks)
    lru = curves["lru"][at].hit_percent
    reach = best.hit_percent / ceiling
    sticky = pools.sticky_percent
    tokens = best.capacity_blocks * trace.block_tokens
    size = f"{format_size(best.capacity_blocks * worth.block_bytes)}, " if worth.block_bytes else ""
    faster = f", and loading is {memory.gain:g} times as fast as computing" if memory else ""
    return (
        f"share one pool of {best.capacity_blocks:,} blocks ({size}{tokens:,} tokens) under "
        f"{pools.policy}: it hits {best.hit_percent:g}% of the blocks, {reach:.0%} of what any "
        f"cache can ({lru:g}% under lru), where {pools.instances} private pools of the same size "
        f"together hit {pools.round_robin_percent:g}% behind a round-robin router and {sticky:g}% "
        f"behind one that is sticky by prefix and pays for it with uneven load{faster}"
    )
