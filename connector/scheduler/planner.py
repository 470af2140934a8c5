"""Which blocks to offer to the cache: pure decisions over block numbers."""

from collections.abc import Iterator, Sequence
from typing import Final

MAX_BLOCKS: Final = 16_384
"""Of one transfer: the protocol's limit."""


def fills_no_block(next_save: int, computed: int, end: int, block_tokens: int) -> bool:
    """Whether a step from ``computed`` to ``end`` tokens has certainly nothing to offer."""
    return next_save * block_tokens <= computed and end < (next_save + 1) * block_tokens


def blocks_to_save(
    *, next_save: int, loaded: range, computed: int, end: int, block_tokens: int, limit: int
) -> list[int]:
    """The blocks of a request that are full after this step and were not offered before.

    ``computed`` tokens have their KV when the step begins, and ``end`` tokens when it ends;
    ``limit`` is the number of blocks that have both a hash and a block id. A draft token that is
    rejected later never counts: its block has no hash yet. ``computed`` may go back, after a
    failed load or a preemption: then blocks are offered again, which is harmless.
    """
    first = min(next_save, computed // block_tokens)
    last = min(end // block_tokens, limit)
    return [block for block in range(first, last) if block not in loaded]


def chunks(blocks: Sequence[int], size: int = MAX_BLOCKS) -> Iterator[Sequence[int]]:
    """``blocks`` in pieces that one transfer may have."""
    for start in range(0, len(blocks), size):
        yield blocks[start : start + size]
