"""What the scheduler side answers and orders, call by call."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.metadata import EngineIdentity, SaveOrder, WorkerLayout, WorkerReport
from pegaflow.connector.scheduler.half import SchedulerSide
from pegaflow.connector.scheduler.membership import Membership
from pegaflow.connector.scheduler.patience import Patience
from tests.connector.fake_daemon import FakeDaemon, FakeLookup, FakeSchedulerClient
from tests.connector.fake_request import FakeRequest, step_of_known, step_of_new
from tests.connector.sample_facts import facts
from tests.connector.simulated_request import AllocatedIds, Said, Scheduled

TOKENS = 32


class Rig:
    def __init__(
        self,
        *,
        refusal: str | None = None,
        saves: bool = True,
        loads: bool = True,
        joined: bool = True,
        adapter_of: Callable[[Any], bytes | None] = lambda adapter: None,
        socket: str = "/no/such/socket",
    ) -> None:
        self.daemon = FakeDaemon(random.Random(0), workers=1, shards=1)
        self.now = 0.0
        self.identities: list[EngineIdentity] = []
        patience = Patience(lambda: self.now)
        self.membership = Membership(
            facts(),
            refusal=refusal,
            namespace_of=lambda layouts: bytes(32),
            open_client=self._open,
            attachment=Attachment(socket),
            patience=patience,
        )
        self.side = SchedulerSide(
            facts(),
            self.membership,
            patience,
            saves=saves,
            loads=loads,
            adapter_of=adapter_of,
        )
        if joined:
            self.join()

    def _open(self, identity: EngineIdentity) -> Any:
        self.identities.append(identity)
        self.client = FakeSchedulerClient(self.daemon, identity)
        self.client.slow = 0.0
        return self.client

    def join(self, layout: WorkerLayout | None = None) -> None:
        report = WorkerReport(layouts={0: layout or WorkerLayout("layout", 1)})
        self.side.workers_said(Said(kv_connector_worker_meta=report))

    def cache(self, *hashes: bytes) -> None:
        for hash in hashes:
            self.daemon.pages[hash] = {0: hash}

    def load(self, request: FakeRequest, blocks: list[int], local_tokens: int = 0) -> int:
        """Match and allocate: the tokens that are loaded."""
        matched, _ = self.side.match(request, local_tokens)
        assert matched is not None
        self.side.allocated(request, AllocatedIds(blocks), matched)
        return matched

    def saved(self, step: Scheduled) -> list[tuple[bytes, int]]:
        """The (hash, block id) pairs that are saved in a step."""
        return [pair for order in self.side.plan(step).saves for pair in pairs(order)]


def pairs(order: SaveOrder) -> list[tuple[bytes, int]]:
    hashes = [order.hashes[at : at + 32] for at in range(0, len(order.hashes), 32)]
    return list(zip(hashes, order.block_ids, strict=True))


# Matching


def test_the_cached_prefix_beyond_the_local_one_is_loaded_between_steps() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(5)
    rig.cache(*request.block_hashes[1:4])

    assert rig.side.match(request, 1 * TOKENS) == (3 * TOKENS, True)
    assert rig.side.match(request, 0) == (0, False)


def test_a_whole_prompt_may_be_loaded() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)

    assert rig.side.match(request, 0) == (3 * TOKENS, True)


def test_asking_again_changes_nothing() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)

    answers = {rig.side.match(request, 0) for _ in range(5)}

    assert answers == {(3 * TOKENS, True)}
    assert len(rig.daemon.held_leases()) == 1


def test_a_local_prefix_that_grew_is_looked_up_anew() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(4)
    rig.cache(*request.block_hashes)
    rig.side.match(request, 0)

    assert rig.side.match(request, 2 * TOKENS) == (2 * TOKENS, True)

    held = rig.daemon.held_leases()
    assert [lease.keys for lease in held] == [request.block_hashes[2:]]


def test_nothing_is_asked_when_no_full_block_is_missing() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)

    assert rig.side.match(request, 3 * TOKENS) == (0, False)
    assert rig.client.calls == 0


def test_a_request_that_must_be_computed_is_not_looked_up() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    request.skip_reading_prefix_cache = True
    rig.cache(*request.block_hashes)

    assert rig.side.match(request, 0) == (0, False)
    assert rig.client.calls == 0


def test_without_a_daemon_nothing_matches() -> None:
    rig = Rig()
    rig.daemon.running = False

    assert rig.side.match(FakeRequest.of_blocks(3), 0) == (0, False)


def test_the_first_requests_wait_while_the_session_connects(tmp_path: Path) -> None:
    (tmp_path / "socket").touch()
    rig = Rig(socket=str(tmp_path / "socket"))
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.daemon.running = False

    assert rig.side.match(request, 0) == (None, False)
    rig.daemon.running = True
    assert rig.side.match(request, 0) == (3 * TOKENS, True)


def test_a_session_that_was_attached_once_is_not_waited_for_again(tmp_path: Path) -> None:
    (tmp_path / "socket").touch()
    rig = Rig(socket=str(tmp_path / "socket"))
    rig.client.lookup = lambda *args: FakeLookup("off")  # type: ignore[method-assign]

    assert rig.side.match(FakeRequest.of_blocks(3, "a"), 0) == (None, False)
    assert rig.side.match(FakeRequest.of_blocks(3, "b"), 0) == (0, False)


def test_nobody_waits_long_for_a_daemon_that_left_its_socket(tmp_path: Path) -> None:
    (tmp_path / "socket").touch()
    rig = Rig(socket=str(tmp_path / "socket"))
    rig.daemon.running = False
    clock = iter(range(1000))
    assert rig.membership.lookups is not None
    rig.membership.lookups._clock = lambda: rig.membership.lookups._connect_until + next(clock)  # type: ignore[union-attr]

    assert rig.side.match(FakeRequest.of_blocks(3), 0) == (0, False)


def test_a_lookup_that_raises_is_a_miss() -> None:
    rig = Rig()
    rig.client.lookup = _raise  # type: ignore[method-assign, assignment]

    assert rig.side.match(FakeRequest.of_blocks(3), 0) == (0, False)


def _raise(*args: object) -> Any:
    raise RuntimeError("broken")


def test_more_hits_than_blocks_were_asked_for_are_a_miss() -> None:
    rig = Rig()
    rig.client.lookup = lambda *args: FakeLookup("ready", 9, lease_id=1)  # type: ignore[method-assign]

    assert rig.side.match(FakeRequest.of_blocks(3), 0) == (0, False)


def test_a_request_waits_for_an_answer_but_not_for_ever() -> None:
    rig = Rig()
    rig.client.slow = 1.0
    request = FakeRequest.of_blocks(3)

    assert rig.side.match(request, 0) == (None, False)
    rig.now = 4.9
    assert rig.side.match(request, 0) == (None, False)
    rig.now = 5.1
    assert rig.side.match(request, 0) == (0, False)


def test_a_request_waits_for_blocks_on_their_way_as_long_as_the_daemon_says() -> None:
    rig = Rig()
    rig.client.fetching = 1.0
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)

    for rig.now in (0.0, 5.1, 100.0):
        assert rig.side.match(request, 0) == (None, False)
    rig.client.fetching = 0.0
    assert rig.side.match(request, 0) == (3 * TOKENS, True)
    assert rig.side.take_stats() is None


def test_the_daemon_is_told_how_long_a_block_takes_to_compute() -> None:
    rig = Rig()
    told: list[float] = []
    rig.client.set_block_compute = told.append  # type: ignore[method-assign, assignment]
    request = FakeRequest.of_blocks(3)

    for _ in range(20):
        rig.side.plan(step_of_new(request, [1, 2, 3], tokens=1000))

    assert told
    assert all(0 < seconds < 60 for seconds in told)


def test_after_one_request_gave_up_others_do_not_wait_until_something_answers() -> None:
    rig = Rig()
    rig.client.slow = 1.0
    first, second, third = (FakeRequest.of_blocks(3, name) for name in "abc")
    rig.side.match(first, 0)
    rig.now = 6.0
    rig.side.match(first, 0)

    assert rig.side.match(second, 0) == (0, False)

    rig.client.slow = 0.0
    rig.side.match(second, 0)
    rig.client.slow = 1.0
    assert rig.side.match(third, 0) == (None, False)


def test_requests_wait_until_the_workers_are_known_but_not_for_ever() -> None:
    rig = Rig(joined=False)
    request = FakeRequest.of_blocks(3)

    assert rig.side.match(request, 0) == (None, False)
    rig.now = 5.1
    assert rig.side.match(request, 0) == (0, False)


def test_a_given_up_request_is_counted_once() -> None:
    rig = Rig()
    rig.client.slow = 1.0
    request = FakeRequest.of_blocks(3)
    for rig.now in (0.0, 6.0, 7.0):
        rig.side.match(request, 0)

    stats = rig.side.take_stats()

    assert stats is not None
    assert stats.data == {"lookups_given_up": 1}
    assert rig.side.take_stats() is None


def test_all_lookups_of_a_step_share_one_wait() -> None:
    waits = []
    rig = Rig()
    lookup = rig.client.lookup

    def slow_lookup(request_id: str, hashes: bytes, size: int, wait_s: float) -> Any:
        waits.append(wait_s)
        return lookup(request_id, hashes, size, wait_s)

    clock = iter(range(1000))
    rig.membership.lookups._clock = lambda: next(clock) * 0.003  # type: ignore[union-attr]
    rig.client.lookup = slow_lookup  # type: ignore[method-assign, assignment]
    for name in "abc":
        rig.side.match(FakeRequest.of_blocks(1, name), 0)
    rig.side.plan(Scheduled())
    rig.side.match(FakeRequest.of_blocks(1, "d"), 0)

    assert waits == pytest.approx([0.004, 0.001, 0.0, 0.004])


# Leases


def test_a_lease_is_given_back_when_vllm_wants_no_external_tokens() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.side.match(request, 0)

    rig.side.allocated(request, AllocatedIds([1, 2, 3]), 0)

    assert rig.daemon.held_leases() == []
    assert rig.side.plan(Scheduled()).loads == ()


def test_a_lease_is_given_back_when_the_request_ends_before_it_is_scheduled() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.cache(*request.block_hashes)
    rig.side.match(request, 0)

    assert rig.side.finished(request) is False
    assert rig.daemon.held_leases() == []


def test_a_miss_does_not_prevent_a_later_hit_of_the_same_request() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(3)
    rig.load(request, [1, 2, 3])
    rig.cache(*request.block_hashes)
    request.num_preemptions += 1

    assert rig.side.match(request, 0) == (3 * TOKENS, True)


# Loads


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


# Saves


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


# Modes and refusals


def test_an_engine_that_only_saves_asks_for_nothing() -> None:
    rig = Rig(loads=False)
    request = FakeRequest.of_blocks(2)
    rig.cache(*request.block_hashes)

    assert rig.load(request, [1, 2]) == 0
    assert rig.client.calls == 0
    assert len(rig.saved(step_of_new(request, [1, 2], tokens=64))) == 2


def test_an_engine_that_only_loads_saves_nothing() -> None:
    rig = Rig(saves=False)
    request = FakeRequest.of_blocks(2)
    rig.load(request, [1, 2])

    assert rig.saved(step_of_new(request, [1, 2], tokens=64)) == []


@pytest.mark.parametrize("refused_by", ["engine", "worker"])
def test_a_refusal_means_no_hits_no_saves_and_one_sentence(
    refused_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    why = "the model has 2 cache groups"
    rig = Rig(refusal=why if refused_by == "engine" else None, joined=False)
    for _ in range(3):
        rig.join(WorkerLayout("", 1, why if refused_by == "worker" else ""))
    request = FakeRequest.of_blocks(2)

    assert rig.side.match(request, 0) == (0, False)
    rig.side.allocated(request, AllocatedIds([1, 2]), 0)
    assert rig.saved(step_of_new(request, [1, 2], tokens=64)) == []
    assert rig.side.finished(request) is False
    assert rig.identities == []
    assert [why in record.getMessage() for record in caplog.records] == [True]


def test_an_engine_that_cannot_join_serves_without_the_cache(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig(joined=False)
    rig.membership._namespace_of = _raise
    rig.join()
    rig.join()

    assert rig.side.match(FakeRequest.of_blocks(2), 0) == (0, False)
    assert caplog.text.count("serving without the cache") == 1


def test_requests_of_an_unknown_adapter_are_not_cached() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(2)
    request.lora_request = object()
    rig.cache(*request.block_hashes)

    assert rig.load(request, [1, 2]) == 0
    assert rig.saved(step_of_new(request, [1, 2], tokens=64)) == []


def test_equal_hashes_of_other_adapter_weights_are_other_keys() -> None:
    rig = Rig(adapter_of=lambda adapter: adapter)
    requests = [FakeRequest.of_blocks(1, name) for name in "abc"]
    for request, adapter in zip(requests, [b"", b"1" * 32, b"2" * 32], strict=True):
        request.block_hashes = requests[0].block_hashes
        request.lora_request = adapter
    keys = set()
    for request in requests:
        rig.load(request, [1])
        keys |= {hash for hash, _ in rig.saved(step_of_new(request, [1], tokens=32))}

    assert len(keys) == 3
    assert {len(key) for key in keys} == {32}


# Epochs


def test_a_reset_gives_the_engine_a_namespace_that_nobody_has() -> None:
    rig = Rig()

    assert rig.side.reset() is True
    assert rig.side.reset() is True

    assert len({identity.namespace for identity in rig.identities}) == 3
    assert len({identity.engine_key for identity in rig.identities}) == 3
    assert rig.side.plan(Scheduled()).identity == rig.identities[-1]


def test_a_reset_is_refused_while_blocks_are_on_their_way() -> None:
    rig = Rig()
    request = FakeRequest.of_blocks(2)
    rig.cache(*request.block_hashes)
    rig.load(request, [1, 2])

    assert rig.side.reset() is False
    assert len(rig.identities) == 1


def test_ranks_share_a_shard_only_as_far_as_all_workers_agree() -> None:
    rig = Rig(joined=False)
    rig.join(WorkerLayout("layout", 4))
    assert rig.identities[0].replicas == 4
