"""A daemon that is killed and started again is found again, and so are the blocks in it."""

import time
from collections.abc import Iterator

import pytest

from tests.connector.simulated_request import AllocatedIds, Scheduled
from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import fresh_hashes
from tests.restart.connected_engine import BLOCK_TOKENS, ConnectedEngine

pytestmark = pytest.mark.timeout(600)

SOURCE = range(0, 32)
TARGET = range(32, 64)

REATTACH_S = 30.0
"""Ten times the failure contract's bound, which ``make bench`` measures: machines may be busy."""

_CHECKSUMS_S = 30.0
_REQUESTS_S = 0.02
_GAPS_S = (0.0, 2.5)
"""At once: faster than any ping. And longer than a connection without an answer is kept."""


@pytest.fixture
def cached(daemon: DaemonProcess, engine: ConnectedEngine) -> Iterator[list[bytes]]:
    """Hashes whose blocks the next daemon will have, as ``SOURCE`` holds them."""
    hashes = fresh_hashes(len(SOURCE))
    engine.memory.refill(SOURCE)
    engine.save(hashes, SOURCE)
    wait_checksums(daemon)
    yield hashes


def wait_checksums(daemon: DaemonProcess) -> None:
    """Wait until what was saved outlives the daemon."""
    wait_until(
        lambda: daemon.status()["checksums"]["pending_pages"] == 0, "checksums", _CHECKSUMS_S
    )


@pytest.mark.parametrize("gap_s", _GAPS_S)
def test_the_next_daemon_is_found_and_so_are_the_blocks_of_the_last(
    gap_s: float, daemon: DaemonProcess, engine: ConnectedEngine, cached: list[bytes]
) -> None:
    content = engine.memory.read(SOURCE)
    for attaches in (2, 3):
        before = daemon.status()["boot_id"]
        daemon.kill()
        serve_without(engine, cached, gap_s)
        daemon.start()

        assert daemon.status()["boot_id"] != before
        wait_until(lambda: daemon.complete_engines() == 1, "the engine registers again", REATTACH_S)
        engine.wait_answered()
        engine.memory.refill(TARGET)
        assert engine.load(cached, TARGET)
        assert engine.memory.read(TARGET) == content
        assert engine.client.counters()["attaches"] == attaches
        assert engine.worker.counters()["attaches"] == attaches


def serve_without(engine: ConnectedEngine, hashes: list[bytes], seconds: float) -> None:
    """Let requests come while there is no daemon: each is answered, with no hits."""
    wait_until(lambda: not engine.client.attached(), "the end is noticed", REATTACH_S)
    end = time.monotonic() + seconds
    while True:
        assert engine.hit_count(hashes) == 0
        assert engine.worker.save("save", hashes[0], [SOURCE[0]]) is None
        if time.monotonic() >= end:
            return
        time.sleep(_REQUESTS_S)


def test_a_lease_of_the_last_daemon_is_a_failed_load_at_the_next(
    daemon: DaemonProcess, engine: ConnectedEngine, cached: list[bytes]
) -> None:
    request = engine.request(cached)
    found = engine.hits(request)
    engine.side.allocated(request, AllocatedIds(list(TARGET)), found * BLOCK_TOKENS)
    (order,) = engine.side.plan(Scheduled()).loads
    daemon.kill()
    daemon.start()
    engine.wait_attached()
    used_again = engine.memory.refill(TARGET)

    assert not engine.carry_out(request, order)

    assert engine.memory.read(TARGET) == used_again
    assert daemon.status()["leases"]["held"] == 0
    engine.wait_answered()
    assert engine.load(cached, TARGET)
    assert engine.memory.read(TARGET) == engine.memory.read(SOURCE)
