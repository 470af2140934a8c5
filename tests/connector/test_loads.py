"""What the scheduler side orders to be loaded, and how loads end, call by call."""

from tests.connector.fake_request import FakeRequest
from tests.connector.scheduler_rig import TOKENS, Rig
from tests.connector.simulated_request import AllocatedIds, Said, Scheduled


def test_a_load_names_the_blocks_behind_the_local_prefix() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(5)
    rig.cache(*request.block_hashes[2:4])
    rig.load(request, [11, 12, 13, 14], local_tokens=2 * TOKENS)

    (order,) = rig.side.plan(Scheduled()).loads

    assert order.block_ids == (13, 14)
    assert order.lease_id != 0
    assert rig.side.plan(Scheduled()).loads == ()


def test_vllm_keeps_the_blocks_of_a_request_that_ends_while_it_is_loaded() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2, 3])

    assert rig.side.finished(request) is True
    assert rig.side.plan(Scheduled()).held == frozenset()

    rig.side.workers_said(Said(finished_recving={"request"}))
    assert len(rig.side._tracker) == 0
    assert rig.daemon.held_leases() == []


def test_a_failed_load_ends_its_lease_and_is_not_tried_again() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2, 3])

    rig.side.workers_said(Said(finished_recving={"request"}, invalid_block_ids={2}))

    assert rig.daemon.held_leases() == []
    assert rig.side.match(request, 0) == (0, False)


def test_a_request_may_load_again_after_it_was_preempted() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2, 3])
    rig.side.workers_said(Said(finished_recving={"request"}, invalid_block_ids={2}))
    request.num_preemptions += 1

    assert rig.side.match(request, 0) == (3 * TOKENS, True)


def test_failed_blocks_of_others_leave_a_load_alone() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2, 3])

    rig.side.workers_said(Said(finished_recving={"request"}, invalid_block_ids={9}))

    assert rig.client.released == []


def test_a_lease_that_is_gone_becomes_a_load_that_fails() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(2)
    rig.cache(*request.block_hashes)
    rig.side.match(request, 0)
    rig.client.take = lambda request_id: None  # type: ignore[method-assign]
    rig.side.allocated(request, AllocatedIds([1, 2]), 2 * TOKENS)

    (order,) = rig.side.plan(Scheduled()).loads

    assert (order.lease_id, order.block_ids) == (0, (1, 2))


def test_the_tiers_of_a_load_add_up_to_its_tokens() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    tokens = rig.load(request, [1, 2, 3])

    hits = rig.side.hits_of(request, tokens)

    assert (hits.memory, hits.ssd, hits.remote) == (tokens, 0, 0)
