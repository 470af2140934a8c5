"""What an engine may do with the cache, and under which names, call by call."""

import pytest

from pegaflow.connector.metadata import WorkerLayout
from tests.connector.fake_request import FakeRequest, step_of_new
from tests.connector.scheduler_rig import Rig, fail
from tests.connector.simulated_request import AllocatedIds, Scheduled


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
    rig.membership._namespace_of = fail
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
