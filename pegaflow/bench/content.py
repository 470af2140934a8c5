"""Fresh random bytes for blocks, and whether they came through."""

import mmap
import os
import random
from collections.abc import Mapping
from typing import Final

from pegaflow.bench.layout import BlockLayout
from pegaflow.errors import PegaflowError

_SOURCE_BYTES: Final = 1 << 20


def write_fresh(layout: BlockLayout, mirror: mmap.mmap) -> None:
    """Fill ``mirror``, laid out as the engine's memory, with bytes that no run had before.

    Each run is another window into fresh random bytes, so that no two runs are alike.
    """
    source = os.urandom(_SOURCE_BYTES + layout.run_bytes)
    for start in range(0, layout.size, layout.run_bytes):
        window = random.randrange(_SOURCE_BYTES)
        mirror[start : start + layout.run_bytes] = source[window : window + layout.run_bytes]


def check_moved(
    layout: BlockLayout, before: mmap.mmap, after: mmap.mmap, came_from: Mapping[int, int]
) -> None:
    """Each block of ``after`` must have the bytes of the block of ``before`` that it came from."""
    for block, source in came_from.items():
        pairs = zip(layout.places(block), layout.places(source), strict=True)
        for run, (place, origin) in enumerate(pairs):
            if after[place] != before[origin]:
                raise PegaflowError(
                    f"block {block}, run {run} of layout {layout.name!r} came back with other "
                    "bytes than were saved"
                )
