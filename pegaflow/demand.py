"""Blocks that were asked for, in the status document; ``schemas/`` has each field."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Missed:
    """Blocks that were missed for one reason."""

    reason: str
    blocks: int


@dataclass(frozen=True)
class GhostHits:
    """Blocks that were missed and that a pool of ``pool_times`` the size would have had."""

    pool_times: float
    blocks: int


@dataclass(frozen=True)
class Evicted:
    """Blocks that were evicted for one reason."""

    reason: str
    never_found_blocks: int
    found_blocks: int


@dataclass(frozen=True)
class Ceiling:
    """What an endless cache would have hit in the last ``window_s`` seconds."""

    window_s: int
    requested_blocks: int
    distinct_blocks: int
    hit_percent: float | None
    """None before anything was asked."""


@dataclass(frozen=True)
class Demand:
    """What lookups asked for and what eviction took, since the start."""

    missed: tuple[Missed, ...]
    ghost_hits: tuple[GhostHits, ...]
    evicted: tuple[Evicted, ...]
    ceilings: tuple[Ceiling, ...]


@dataclass(frozen=True)
class HotPrefix:
    """The first blocks of prompts that are asked for often."""

    namespace: str
    block_hash: str
    """Of its last block, which stands for all before it."""
    blocks: int
    lookups: int
    overrated_lookups: int
    """So many of the lookups may have been others."""
    found_lookups: int


@dataclass(frozen=True)
class Restore:
    """Seconds to compute a block, or to bring it back; None where nothing is known."""

    recompute_block_s: float | None
    memory_block_s: float | None
    ssd_block_s: float | None


@dataclass(frozen=True)
class WhatIfPoint:
    """What a pool of another size would have hit."""

    pool_bytes: int
    hit_percent: float
    is_rough: bool = False
    """Whether it may be off by more than two points."""


@dataclass(frozen=True)
class WhatIf:
    """What pools of other sizes would have hit, from a sample of the blocks asked for."""

    policy: str
    seen_blocks: int
    sampled_blocks: int
    points: tuple[WhatIfPoint, ...]
    """None before anything was asked."""
    suggested_pool_bytes: int | None = None
    """The least size that hits about as much as the best; None before anything was asked."""

    def is_early(self, cached_blocks: int) -> bool:
        """Whether it knows less than is cached, as after a take-over: it is too low then."""
        return self.seen_blocks < cached_blocks


NO_DEMAND: Final = Demand((), (), (), ())
"""Of daemons that do not count it."""

UNKNOWN_RESTORE: Final = Restore(None, None, None)
"""Nothing is known."""
