"""What the scheduler side answers when vLLM asks for a cached prefix, call by call."""

from pathlib import Path
from typing import Any

import pytest

from tests.connector.fake_daemon import FakeLookup
from tests.connector.fake_request import FakeRequest, step_of_new
from tests.connector.scheduler_rig import TOKENS, Rig, fail
from tests.connector.simulated_request import AllocatedIds, Scheduled


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


def test_a_lookup_thatfails_is_a_miss() -> None:
    rig = Rig()
    rig.client.lookup = fail  # type: ignore[method-assign, assignment]

    assert rig.side.match(FakeRequest.of_blocks(3), 0) == (0, False)


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
