"""What a worker does with its orders and reports of them, call by call."""

import random
from dataclasses import replace
from typing import Any

import pytest

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.metadata import (
    EngineIdentity,
    LoadOrder,
    SaveOrder,
    StepPlan,
    WorkerLayout,
    WorkerReport,
)
from pegaflow.connector.worker.half import WorkerSide
from tests.connector.fake_daemon import FakeDaemon, FakeWorkerClient, Lease
from tests.connector.simulated_pool import BlockPool

IDENTITY = EngineIdentity(b"k" * 16, b"n" * 32, 1)
KEYS = [bytes([number]) * 32 for number in range(8)]


class Rig:
    def __init__(self, rank: int = 0, refusal: str = "") -> None:
        self.daemon = FakeDaemon(random.Random(0), workers=1, shards=1)
        self.clients: list[FakeWorkerClient] = []
        self.pool = BlockPool(10, rank + 1)
        self.rank = rank
        self.side = WorkerSide(rank, self._open, Attachment("socket"))
        self.side.registered(WorkerLayout("layout", 1, refusal))

    def _open(self, identity: EngineIdentity) -> Any:
        client = FakeWorkerClient(self.daemon, self.rank, 0, self.pool)
        client.fails = 0.0
        self.clients.append(client)
        return client

    @property
    def client(self) -> FakeWorkerClient:
        return self.clients[-1]

    def begin(self, **plan: Any) -> None:
        self.side.begin(StepPlan(**{"identity": IDENTITY, **plan}))
        self.side.start_loads()

    def run(self, **plan: Any) -> None:
        self.begin(**plan)
        self.side.start_saves()

    def lease(self, *keys: bytes) -> int:
        self.daemon.leases[1] = Lease(list(keys), {self.rank})
        return 1

    def finish_transfers(self) -> None:
        for client in self.clients:
            for transfer in list(client.transfers.values()):
                client._end(transfer, ok=True)


def save(serial: int = 0, request: str = "a", *blocks: int) -> SaveOrder:
    ids = blocks or (1, 2)
    hashes, after = KEYS[: len(ids)], [KEYS[0], *KEYS][: len(ids)]
    return SaveOrder(serial, request, b"".join(hashes), b"".join(after), ids)


def load(lease_id: int, request: str = "a") -> LoadOrder:
    return LoadOrder(request, lease_id, 1, (1, 2))


def test_loads_start_when_the_orders_come_and_only_once() -> None:
    rig = Rig()
    rig.begin(loads=(load(rig.lease(*KEYS[:2])),))
    rig.side.start_loads()

    assert [transfer.block_ids for transfer in rig.client.transfers.values()] == [[1, 2]]


def test_saves_start_after_the_forward_and_only_once() -> None:
    rig = Rig()
    rig.begin(saves=(save(),))
    assert rig.client.transfers == {}
    rig.side.start_saves()
    rig.side.start_saves()

    assert len(rig.client.transfers) == 1


def test_ranks_with_equal_bytes_divide_an_order_and_each_block_has_the_one_before_it() -> None:
    said = []
    for rank in range(2):
        rig = Rig(rank)
        identity = replace(IDENTITY, replicas=2)
        rig.run(identity=identity, saves=(save(0, "a", 1, 2, 3, 4),))
        said.append(rig.daemon.followed)

    assert said == [
        {(KEYS[1], KEYS[0]), (KEYS[3], KEYS[2])},
        {(KEYS[0], KEYS[0]), (KEYS[2], KEYS[1])},
    ]


def test_a_load_that_ended_is_reported_once() -> None:
    rig = Rig()
    rig.run(loads=(load(rig.lease(*KEYS[:2])),))
    assert rig.side.collect(set()) == (set(), set())
    rig.finish_transfers()

    assert rig.side.collect(set()) == (set(), {"a"})
    assert rig.side.take_failed_blocks() == set()
    assert rig.side.collect({"a"}) == (set(), set())


def test_a_failed_load_reports_exactly_its_blocks_with_its_request() -> None:
    rig = Rig()
    rig.run(loads=(load(rig.lease(*KEYS[:2])), load(0, "b")))

    assert rig.side.collect(set()) == (set(), {"b"})
    assert rig.side.take_failed_blocks() == {1, 2}
    assert rig.side.take_failed_blocks() == set()


@pytest.mark.parametrize("refusal", ["", "no"], ids=["unknown engine", "refused layout"])
def test_without_a_session_loads_fail_and_saves_end_at_once(refusal: str) -> None:
    rig = Rig(refusal=refusal)
    identity = IDENTITY if refusal else None
    rig.run(identity=identity, loads=(load(1),), saves=(save(7, "b"),), held=frozenset("b"))

    assert rig.side.collect({"b"}) == ({"b"}, {"a"})
    assert rig.side.take_failed_blocks() == {1, 2}
    report = rig.side.report()
    assert report is not None
    assert report.ended_saves == {7: 1}


def test_a_request_aborted_while_loading_is_reported_when_its_copy_has_ended() -> None:
    rig = Rig()
    rig.run(loads=(load(rig.lease(*KEYS[:2])),))
    for transfer in rig.client.transfers.values():
        transfer.taken = True

    assert rig.side.collect({"a"}) == (set(), set())
    rig.finish_transfers()
    assert rig.side.collect(set()) == (set(), {"a"})
    assert rig.side.collect(set()) == (set(), set())


def test_a_request_aborted_before_its_copy_began_is_reported_at_once() -> None:
    rig = Rig()
    rig.run(loads=(load(rig.lease(*KEYS[:2])),))

    assert rig.side.collect({"a"}) == (set(), {"a"})
    assert rig.client.transfers == {}
    assert rig.side.collect(set()) == (set(), set())


def test_a_held_request_is_sent_after_its_last_save() -> None:
    rig = Rig()
    rig.run(saves=(save(0), save(1)))
    first, second = rig.client.transfers.values()
    rig.client._end(first, ok=True)
    rig.run(held=frozenset("a"))

    assert rig.side.collect({"a"}) == (set(), set())
    rig.client._end(second, ok=False)
    assert rig.side.collect(set()) == ({"a"}, set())
    assert rig.side.collect(set()) == (set(), set())


def test_a_finished_request_that_is_not_held_is_never_reported() -> None:
    rig = Rig()
    rig.run(saves=(save(),))
    rig.finish_transfers()

    assert rig.side.collect({"a"}) == (set(), set())


def test_saves_of_preempted_requests_end_before_their_blocks_are_written() -> None:
    rig = Rig()
    rig.run(saves=(save(0, "a"), save(1, "b")))
    plan = StepPlan(identity=IDENTITY, preempted=frozenset("a"))
    rig.side.release(plan)

    assert [transfer.request_id for transfer in rig.client.transfers.values()] == ["b"]
    rig.side.begin(plan)
    rig.side.collect(set())
    assert rig.side.report() is None


def test_saves_that_vllm_did_not_let_start_are_given_up() -> None:
    rig = Rig()
    rig.begin(saves=(save(3),))
    rig.run()

    report = rig.side.report()
    assert report is not None
    assert report.ended_saves == {3: 1}
    assert rig.client.transfers == {}


def test_workers_report_their_layout_until_they_know_their_engine() -> None:
    rig = Rig(rank=1)
    rig.run(identity=None)
    layouts = {1: WorkerLayout("layout", 1)}
    assert rig.side.report() == WorkerReport({}, layouts)
    rig.run(identity=None)
    assert rig.side.report() == WorkerReport({}, layouts)
    rig.run()
    assert rig.side.report() is None


def test_another_identity_is_another_session() -> None:
    rig = Rig()
    rig.run()
    rig.run()
    rig.run(identity=EngineIdentity(b"j" * 16, b"m" * 32, 1))

    assert [client.identity for client in rig.clients] == [
        (b"k" * 16, b"n" * 32),
        (b"j" * 16, b"m" * 32),
    ]


def test_a_sleeping_engine_lets_go_and_joins_again_when_it_wakes() -> None:
    rig = Rig()
    rig.run()
    rig.side.unregistered()
    rig.run(saves=(save(1),))
    assert len(rig.clients) == 1
    assert rig.client.transfers == {}

    rig.side.restored()
    rig.run()
    assert [client.identity for client in rig.clients] == [(b"k" * 16, b"n" * 32)] * 2


def test_ranks_with_equal_bytes_divide_the_blocks_among_them() -> None:
    identity = EngineIdentity(b"k" * 16, b"n" * 32, 2)
    saved = {}
    for rank in range(4):
        rig = Rig(rank)
        rig.run(identity=identity, saves=(save(0, "a", 1, 2, 3, 4, 6),))
        for transfer in rig.client.transfers.values():
            saved[rank] = dict(zip(transfer.block_ids, transfer.keys, strict=True))

    assert {**saved[0], **saved[1]} == dict(zip((1, 2, 3, 4, 6), KEYS, strict=False))
    assert saved[0].keys().isdisjoint(saved[1])
    assert (saved[2], saved[3]) == (saved[0], saved[1])


def test_a_rank_with_no_block_of_its_own_still_ends_the_save() -> None:
    rig = Rig(rank=1)
    rig.run(identity=EngineIdentity(b"k" * 16, b"n" * 32, 2), saves=(save(5, "a", 2, 4),))

    report = rig.side.report()
    assert report is not None
    assert report.ended_saves == {5: 1}


def test_a_client_that_raises_is_a_miss() -> None:
    rig = Rig()
    rig.run()
    for name in ("save", "load", "poll", "revoke", "close"):
        setattr(rig.client, name, _raise)
    rig.run(loads=(load(1),), saves=(save(0, "b"),))

    assert rig.side.collect(set()) == (set(), {"a"})
    assert rig.side.take_failed_blocks() == {1, 2}
    rig.side.close()


def _raise(*args: object) -> Any:
    raise RuntimeError("broken")


def test_reports_of_several_workers_add_up() -> None:
    one = WorkerReport({1: 1, 2: 1}, {0: WorkerLayout("x", 1)})
    two = WorkerReport({2: 1, 3: 1}, {1: WorkerLayout("y", 1)})

    assert one.aggregate(two) == WorkerReport(
        {1: 1, 2: 2, 3: 1}, {0: WorkerLayout("x", 1), 1: WorkerLayout("y", 1)}
    )


def test_statistics_count_what_ended_since_the_last_call() -> None:
    rig = Rig()
    rig.run(loads=(load(0),), saves=(save(0), save(1)))
    rig.finish_transfers()
    rig.side.collect(set())

    stats = rig.side.take_stats()

    assert stats is not None
    assert stats.data["save_success"] == 2
    assert stats.data["save_blocks"] == [2, 2]
    assert stats.data["load_failure"] == 1
    assert rig.side.take_stats() is None
