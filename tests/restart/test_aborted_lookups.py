"""Ten thousand lookups with requests that end at any moment: nothing stays leased or pinned."""

import random
from collections.abc import Sequence
from typing import Final

import pytest

from tests.connector.fake_request import FakeRequest
from tests.connector.simulated_request import AllocatedIds, Said, Scheduled
from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import fresh_hashes
from tests.restart.conftest import SHAPE
from tests.restart.connected_engine import BLOCK_TOKENS, ConnectedEngine
from tests.restart.left_over import assert_daemon_is_idle

LOOKUPS: Final = 10_000
SOURCE: Final = range(0, 32)
TARGET: Final = range(32, 64)
POOL_BLOCKS: Final = (64 << 20) // SHAPE.block_bytes


def look_up_and_end(
    engine: ConnectedEngine, request: FakeRequest, chance: random.Random
) -> int | None:
    """One request that is aborted somewhere, or not; a load that it began."""
    for _ in range(chance.randrange(4)):
        if chance.random() < 0.1:
            return None  # between two steps
        found = engine.match(request)
        engine.step()
        if found is None:
            continue
        if chance.random() < 0.5:
            return None  # the answer came, and nobody is interested
        wanted = chance.randrange(found + 1)
        engine.side.allocated(request, AllocatedIds(list(TARGET)), wanted * BLOCK_TOKENS)
        orders = engine.side.plan(Scheduled()).loads
        if not orders or chance.random() < 0.3:
            return None  # before the worker sees the order
        (order,) = orders
        return engine.worker.load(
            order.request_id, order.lease_id, order.boot_id, 0, order.block_ids
        )
    return None


def end(engine: ConnectedEngine, request: FakeRequest, transfer: int | None) -> None:
    """The request ends; a load is revoked, as a worker does for an aborted request."""
    engine.side.finished(request)
    if transfer is not None and not engine.worker.revoke(transfer):
        wait_until(engine.worker.poll, "the copy that was under way ends", 10)
    engine.worker.poll()
    engine.side.workers_said(Said(finished_recving={request.request_id}))


@pytest.mark.timeout(600)
def test_ten_thousand_lookups_with_aborts_leave_no_lease_and_no_pin(
    daemon: DaemonProcess, engine: ConnectedEngine
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    hashes = fresh_hashes(len(SOURCE))
    engine.memory.refill(SOURCE)
    engine.save(hashes, SOURCE)
    for _ in range(LOOKUPS):
        request = engine.request(hashes[: chance.randrange(1, len(hashes) + 1)])
        end(engine, request, look_up_and_end(engine, request, chance))

    assert_daemon_is_idle(daemon, engines=1)
    assert engine.client.counters()["leases_held"] == 0
    assert daemon.status()["leases"]["bytes"] == 0
    assert_everything_can_be_evicted(engine, hashes)
    assert daemon.status()["pool"]["no_space"] == 0


def assert_everything_can_be_evicted(engine: ConnectedEngine, hashes: Sequence[bytes]) -> None:
    """Blocks for twice the pool find room, and the ones of before are gone."""
    for _ in range(0, 2 * POOL_BLOCKS, len(TARGET)):
        engine.save(fresh_hashes(len(TARGET)), TARGET)
    assert engine.hit_count(hashes) == 0
