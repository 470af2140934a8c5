"""What the workers start in a step before vLLM's forward, and what after it."""

import pytest

from tests.connector.fake_daemon import FakeWorkerClient
from tests.connector.fake_request import FakeRequest, step_of_new
from tests.connector.simulated_request import AllocatedIds
from tests.connector.test_facade import Rig


def worker_client(rig: Rig) -> FakeWorkerClient:
    (client,) = rig.daemon.clients
    return client


def test_no_save_starts_before_the_forward_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    rig.register()
    rig.step()
    request = FakeRequest.of_blocks(2)
    rig.scheduler.get_num_new_matched_tokens(request, 0)
    rig.scheduler.update_state_after_alloc(request, AllocatedIds([1, 2]), 0)

    meta = rig.scheduler.build_connector_meta(step_of_new(request, [1, 2], tokens=64))
    rig.worker.handle_preemptions(meta)
    rig.worker.bind_connector_metadata(meta)
    rig.worker.start_load_kv(None)
    assert worker_client(rig).transfers == {}, "the forward still writes these blocks"
    rig.worker.wait_for_save()

    saved = [transfer.block_ids for transfer in worker_client(rig).transfers.values()]
    assert saved == [[1, 2]]


def test_blocks_are_those_of_the_step_when_another_connector_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch)
    rig.register()
    rig.step()
    request = FakeRequest.of_blocks(3)
    rig.scheduler.get_num_new_matched_tokens(request, 0)
    # MultiConnector hands those that were not chosen no blocks.
    rig.scheduler.update_state_after_alloc(request, AllocatedIds([]), 0)

    meta = rig.scheduler.build_connector_meta(step_of_new(request, [4, 5, 6], tokens=96))

    assert [order.block_ids for order in meta.saves] == [(4, 5, 6)]
