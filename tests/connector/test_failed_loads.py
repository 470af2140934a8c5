"""Loads of one step fail apart: each with its own blocks and its own request."""

import pytest

from pegaflow.connector.metadata import LoadOrder
from tests.connector.fake_daemon import Lease
from tests.connector.test_worker_side import KEYS, Rig

_BLOCKS = {"a": (1, 2), "b": (3,), "c": (4, 5, 6)}


@pytest.mark.parametrize("failing", [{"a"}, {"b"}, {"c"}, {"a", "c"}, set(_BLOCKS), set()])
def test_a_load_that_fails_leaves_the_others_of_its_step_alone(failing: set[str]) -> None:
    rig = Rig()
    orders = []
    for lease_id, (request, blocks) in enumerate(_BLOCKS.items(), start=1):
        rig.daemon.leases[lease_id] = Lease(KEYS[: len(blocks)], {rig.rank})
        orders.append(LoadOrder(request, lease_id, 1, blocks))
    rig.run(loads=tuple(orders))
    for transfer in list(rig.client.transfers.values()):
        rig.client._end(transfer, ok=transfer.request_id not in failing)

    assert rig.side.collect(set()) == (set(), set(_BLOCKS))
    assert rig.side.take_failed_blocks() == {
        block for request in failing for block in _BLOCKS[request]
    }
