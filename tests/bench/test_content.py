"""A block with other bytes than were saved is found, whatever its layout."""

import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegaflow.bench.content import check_moved, write_fresh
from pegaflow.bench.layout import BlockLayout
from pegaflow.errors import PegaflowError

LAYOUTS = st.builds(
    BlockLayout,
    st.just("some"),
    num_blocks=st.integers(2, 6),
    runs=st.integers(1, 5),
    run_bytes=st.integers(1, 40).map(lambda units: units * 512),
)


def _moved(layout: BlockLayout, before: mmap.mmap, after: mmap.mmap) -> dict[int, int]:
    """Put each block of ``before`` where its mirror image is."""
    came_from = {block: layout.num_blocks - 1 - block for block in range(layout.num_blocks)}
    for block, source in came_from.items():
        for place, origin in zip(layout.places(block), layout.places(source), strict=True):
            after[place] = before[origin]
    return came_from


@given(LAYOUTS)
def test_blocks_that_moved_whole_are_right(layout: BlockLayout) -> None:
    with mmap.mmap(-1, layout.size) as before, mmap.mmap(-1, layout.size) as after:
        write_fresh(layout, before)
        check_moved(layout, before, after, _moved(layout, before, after))


@given(LAYOUTS, st.data())
def test_one_changed_byte_is_found(layout: BlockLayout, data: st.DataObject) -> None:
    with mmap.mmap(-1, layout.size) as before, mmap.mmap(-1, layout.size) as after:
        write_fresh(layout, before)
        came_from = _moved(layout, before, after)
        after[data.draw(st.integers(0, layout.size - 1))] ^= 1
        with pytest.raises(PegaflowError, match="came back with other bytes"):
            check_moved(layout, before, after, came_from)


@given(LAYOUTS, st.data())
def test_two_runs_in_each_others_place_are_found(layout: BlockLayout, data: st.DataObject) -> None:
    with mmap.mmap(-1, layout.size) as before, mmap.mmap(-1, layout.size) as after:
        write_fresh(layout, before)
        came_from = _moved(layout, before, after)
        runs = st.integers(0, layout.num_blocks * layout.runs - 1)
        first, second = data.draw(st.lists(runs, min_size=2, max_size=2, unique=True))
        one, other = (
            slice(run * layout.run_bytes, (run + 1) * layout.run_bytes) for run in (first, second)
        )
        after[one], after[other] = after[other], after[one]
        with pytest.raises(PegaflowError, match="came back with other bytes"):
            check_moved(layout, before, after, came_from)
