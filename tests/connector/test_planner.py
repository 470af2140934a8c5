"""Which blocks a step offers: decided by numbers alone."""

from hypothesis import given
from hypothesis import strategies as st

from pegaflow.connector.scheduler.planner import blocks_to_save, chunks, fills_no_block

BLOCK = 16
tokens = st.integers(0, 400)
blocks = st.integers(0, 30)


@given(blocks, tokens, tokens, blocks)
def test_only_full_blocks_with_hash_and_id_are_offered_in_order(
    next_save: int, computed: int, scheduled: int, limit: int
) -> None:
    end = computed + scheduled
    offered = blocks_to_save(
        next_save=next_save,
        loaded=range(0),
        computed=computed,
        end=end,
        block_tokens=BLOCK,
        limit=limit,
    )
    assert all((block + 1) * BLOCK <= end and block < limit for block in offered)
    assert offered == sorted(set(offered))


@given(blocks, tokens, tokens, blocks, blocks)
def test_every_block_that_fills_in_the_step_is_offered_unless_it_was_loaded(
    next_save: int, computed: int, scheduled: int, first_loaded: int, loaded: int
) -> None:
    offered = blocks_to_save(
        next_save=next_save,
        loaded=range(first_loaded, first_loaded + loaded),
        computed=computed,
        end=computed + scheduled,
        block_tokens=BLOCK,
        limit=1000,
    )
    filled = range(computed // BLOCK, (computed + scheduled) // BLOCK)
    assert set(filled) - set(range(first_loaded, first_loaded + loaded)) <= set(offered)


@given(blocks, tokens, tokens, blocks)
def test_the_quick_answer_is_never_wrong(
    next_save: int, computed: int, scheduled: int, limit: int
) -> None:
    end = computed + scheduled
    if fills_no_block(next_save, computed, end, BLOCK):
        assert not blocks_to_save(
            next_save=next_save,
            loaded=range(0),
            computed=computed,
            end=end,
            block_tokens=BLOCK,
            limit=limit,
        )


def test_a_decode_step_inside_a_block_is_answered_quickly() -> None:
    assert fills_no_block(2, 2 * BLOCK + 5, 2 * BLOCK + 6, BLOCK)
    assert not fills_no_block(2, 3 * BLOCK - 1, 3 * BLOCK, BLOCK)
    assert not fills_no_block(2, BLOCK, BLOCK + 1, BLOCK)


@given(st.lists(st.integers()), st.integers(1, 7))
def test_chunks_are_the_whole_in_order(whole: list[int], size: int) -> None:
    parts = list(chunks(whole, size))
    assert [one for part in parts for one in part] == whole
    assert all(len(part) == size for part in parts[:-1])
