"""What the scheduler side orders to be saved, and how saves end, call by call."""

import pytest

from pegaflow.connector.metadata import WorkerReport
from tests.connector.fake_request import FakeRequest, step_of_known, step_of_new
from tests.connector.scheduler_rig import TOKENS, Rig, pairs, split
from tests.connector.simulated_request import AllocatedIds, Said, Scheduled


def test_each_full_block_is_saved_under_its_own_hash() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [7, 8, 9, 10])

    saved = rig.saved(step_of_new(request, [7, 8, 9, 10], tokens=100))

    assert saved == list(zip(request.block_hashes, [7, 8, 9], strict=True))


def test_a_prompt_in_chunks_is_saved_chunk_by_chunk() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(4)
    rig.load(request, [1, 2])

    first = rig.saved(step_of_new(request, [1, 2], tokens=50))
    second = rig.saved(step_of_known(request, [3], computed=50, tokens=50))
    third = rig.saved(step_of_known(request, [4], computed=100, tokens=28))

    assert [block for _, block in first + second + third] == [1, 2, 3, 4]
    assert [hash for hash, _ in first + second + third] == request.block_hashes
    assert [len(part) for part in (first, second, third)] == [1, 2, 1]


def test_blocks_that_decoding_fills_are_saved() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(1)
    rig.load(request, [1, 2])
    rig.saved(step_of_new(request, [1, 2], tokens=63))

    assert rig.saved(step_of_known(request, [], computed=63, tokens=1)) == []
    request.block_hashes.append(b"2" * 32)
    assert rig.saved(step_of_known(request, [3], computed=64, tokens=1)) == [(b"2" * 32, 2)]


def test_each_block_is_saved_with_the_hash_of_the_block_before_it() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(4)
    first, second, third, fourth = request.block_hashes
    rig.cache(second, third)
    rig.load(request, [1, 2, 3], local_tokens=TOKENS)
    rig.side.workers_said(Said(finished_recving={"request"}))

    prompt = rig.side.plan(
        step_of_new(request, [1, 2, 3, 4], computed=3 * TOKENS, tokens=TOKENS)
    ).saves
    request.block_hashes.append(b"5" * 32)
    answer = rig.side.plan(step_of_known(request, [5], computed=4 * TOKENS, tokens=TOKENS)).saves

    assert [split(order.hashes) for order in prompt + answer] == [[first, fourth], [b"5" * 32]]
    assert [split(order.after) for order in prompt + answer] == [[first, third], [fourth]]


def test_local_hits_are_offered_once_and_loaded_blocks_never() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(4)
    rig.cache(*request.block_hashes[1:3])
    rig.load(request, [1, 2, 3], local_tokens=TOKENS)
    rig.side.workers_said(Said(finished_recving={"request"}))

    first = rig.saved(step_of_new(request, [1, 2, 3, 4], computed=3 * TOKENS, tokens=TOKENS))
    second = rig.saved(step_of_known(request, [5], computed=4 * TOKENS, tokens=1))

    assert [block for _, block in first] == [1, 4]
    assert second == []


def test_blocks_that_could_not_be_loaded_are_saved_when_they_are_computed() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2, 3])
    rig.side.workers_said(Said(finished_recving={"request"}, invalid_block_ids={1, 2, 3}))

    saved = rig.saved(step_of_new(request, [4, 5, 6, 7], tokens=100))

    assert [block for _, block in saved] == [4, 5, 6]


@pytest.mark.parametrize("as_new", [True, False], ids=["V2 runner", "V1 runner"])
def test_a_resumed_request_is_saved_from_its_new_blocks(as_new: bool) -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3, 4])
    rig.saved(step_of_new(request, [1, 2, 3, 4], tokens=100))
    request.num_preemptions += 1
    rig.side.plan(Scheduled())

    again = (
        step_of_new(request, [6, 7, 8, 9], tokens=100)
        if as_new
        else step_of_known(request, [6, 7, 8, 9], computed=0, tokens=100, resumed=True)
    )

    assert rig.saved(again) == list(zip(request.block_hashes, [6, 7, 8], strict=True))


def test_a_session_that_goes_on_replaces_its_blocks() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(1)
    rig.load(request, [1, 2])
    rig.saved(step_of_new(request, [1, 2], tokens=40))
    request.block_hashes += [b"2" * 32, b"3" * 32]

    saved = rig.saved(step_of_new(request, [1, 2, 3, 4], computed=40, tokens=60))

    assert saved == list(zip(request.block_hashes, [1, 2, 3], strict=True))


def test_loaded_blocks_that_were_lost_are_saved_when_they_are_computed() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(2)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2])
    rig.side.workers_said(Said(finished_recving={"request"}))
    rig.saved(step_of_new(request, [1, 2, 3], computed=64, tokens=1))
    request.num_preemptions += 1

    saved = rig.saved(step_of_known(request, [4, 5], computed=0, tokens=64, resumed=True))

    assert [block for _, block in saved] == [4, 5]


def test_saves_of_a_preempted_request_are_ended_and_no_longer_waited_for() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3])
    rig.saved(step_of_new(request, [1, 2, 3], tokens=96))
    request.num_preemptions += 1

    assert rig.side.plan(Scheduled()).preempted == {"request"}
    assert rig.side.finished(request) is False


def test_saves_end_too_when_the_request_is_matched_again_before_the_next_step() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3])
    rig.saved(step_of_new(request, [1, 2, 3], tokens=96))
    request.num_preemptions += 1
    rig.side.match(request, 0)

    assert rig.side.plan(Scheduled()).preempted == {"request"}


def test_saves_of_a_request_that_resumes_at_once_are_told_from_its_old_ones() -> None:
    rig = Rig(loads=False)
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3])
    rig.saved(step_of_new(request, [1, 2, 3], tokens=96))
    request.num_preemptions += 1

    plan = rig.side.plan(step_of_known(request, [4, 5, 6], computed=0, tokens=96, resumed=True))

    assert plan.preempted == {"request"}
    assert [order.block_ids for order in plan.saves] == [(4, 5, 6)]
    assert rig.side.plan(Scheduled()).preempted == frozenset()
    assert rig.side.finished(request) is True


def test_saves_end_too_when_a_preempted_request_ends_before_the_next_step() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3])
    rig.saved(step_of_new(request, [1, 2, 3], tokens=96))
    request.num_preemptions += 1

    assert rig.side.finished(request) is False
    assert rig.side.plan(Scheduled()).preempted == {"request"}


def test_blocks_are_kept_until_every_save_has_ended() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3])
    (order,) = rig.side.plan(step_of_new(request, [1, 2, 3], tokens=96)).saves

    assert rig.side.finished(request) is True
    assert rig.side.plan(Scheduled()).held == {"request"}
    report = WorkerReport(ended_saves={order.serial: 1})
    rig.side.workers_said(Said(finished_sending={"request"}, kv_connector_worker_meta=report))
    assert len(rig.side._tracker) == 0


def test_blocks_are_free_at_once_when_all_saves_have_ended() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3])
    (order,) = rig.side.plan(step_of_new(request, [1, 2, 3], tokens=96)).saves
    report = WorkerReport(ended_saves={order.serial: 1})
    rig.side.workers_said(Said(kv_connector_worker_meta=report))

    assert rig.side.finished(request) is False


def test_a_long_prompt_is_saved_in_transfers_of_allowed_size() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(40_000)
    blocks = list(range(1, 40_001))
    rig.load(request, blocks)

    saves = rig.side.plan(step_of_new(request, blocks, tokens=40_000 * TOKENS)).saves

    assert [len(order.block_ids) for order in saves] == [16_384, 16_384, 7_232]
    assert [pair for order in saves for pair in pairs(order)] == list(
        zip(request.block_hashes, blocks, strict=True)
    )


def test_blocks_that_filled_before_the_workers_were_known_are_saved_later() -> None:
    rig = Rig(joined=False)
    request = FakeRequest.of_blocks(2)
    rig.side.allocated(request, AllocatedIds([1, 2]), 0)
    assert rig.saved(step_of_new(request, [1, 2], tokens=64)) == []
    rig.join()

    saved = rig.saved(step_of_known(request, [3], computed=64, tokens=1))

    assert [block for _, block in saved] == [1, 2]


def test_a_broken_step_description_loses_saves_but_no_load() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(2)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2])

    plan = rig.side.plan(None)  # type: ignore[arg-type]

    assert [order.block_ids for order in plan.loads] == [(1, 2)]
    assert plan.saves == ()
