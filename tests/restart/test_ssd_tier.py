"""Blocks outlive the daemon and its memory on a disk, and come back while requests wait."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from pegaflow import _native
from tests.connector.simulated_request import AllocatedIds, Scheduled
from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import fresh_hashes
from tests.restart.connected_engine import BLOCK_TOKENS, ConnectedEngine

pytestmark = pytest.mark.timeout(600)

SOURCE: Final = range(0, 32)
TARGET: Final = range(32, 64)
ROUNDS: Final = 24
"""What is saved is twice what the pool has room for."""

_WRITTEN_S: Final = 60.0
_REATTACH_S: Final = 30.0

Saved = list[tuple[list[bytes], list[bytes]]]
"""Hashes, and the bytes of their blocks."""


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    with tempfile.TemporaryDirectory(prefix="pegaflow-ssd-") as disk:
        options = [f"--ssd={Path(disk) / 'tier'}=256MiB", "--ssd-fetch-bytes=16KiB"]
        with DaemonProcess(pool_size="8MiB", options=options) as daemon:
            yield daemon


@pytest.fixture
def saved(daemon: DaemonProcess, engine: ConnectedEngine) -> Saved:
    """More than the pool holds, all of it on the disk."""
    all_of_it = []
    for number in range(ROUNDS):
        hashes = fresh_hashes(len(SOURCE))
        content = engine.memory.refill(SOURCE)
        engine.save(hashes, SOURCE)
        wait_on_disk(daemon, (number + 1) * len(SOURCE))
        all_of_it.append((hashes, content))
    return all_of_it


def wait_on_disk(daemon: DaemonProcess, blocks: int) -> None:
    """Wait until the disk has so many blocks."""
    wait_until(
        lambda: bool(daemon.status()["ssd"]["blocks"] == blocks),
        f"{blocks} blocks are on the disk",
        _WRITTEN_S,
    )


def begin_anew(daemon: DaemonProcess, engine: ConnectedEngine) -> None:
    """Kill the daemon, free its memory, and start the next one."""
    daemon.kill()
    assert _native.purge(str(daemon.socket), None) > 0
    daemon.start()
    assert daemon.blocks() == 0
    wait_until(lambda: daemon.complete_engines() == 1, "the engine registers again", _REATTACH_S)
    engine.wait_answered()


def test_what_a_killed_daemon_wrote_is_loaded_by_the_next_one(
    daemon: DaemonProcess, engine: ConnectedEngine, saved: Saved
) -> None:
    begin_anew(daemon, engine)
    for hashes, content in saved:
        request = engine.request(hashes)
        found = engine.hits(request)
        assert found == len(hashes)
        hits = engine.side.hits_of(request, found * BLOCK_TOKENS)
        assert (hits.memory, hits.ssd) == (0, found * BLOCK_TOKENS)
        engine.memory.refill(TARGET)
        engine.side.allocated(request, AllocatedIds(list(TARGET)), found * BLOCK_TOKENS)
        (order,) = engine.side.plan(Scheduled()).loads
        assert engine.carry_out(request, order)
        assert engine.memory.read(TARGET) == content
    blocks = daemon.status()["blocks"]
    assert blocks["ssd"] == ROUNDS * len(SOURCE)
    assert blocks["requested"] == sum(blocks[tier] for tier in ("memory", "ssd", "remote", "miss"))


def test_a_request_waits_while_many_blocks_come_one_at_a_time(
    daemon: DaemonProcess, engine: ConnectedEngine, saved: Saved
) -> None:
    begin_anew(daemon, engine)
    hashes = [key for some, _ in saved[: ROUNDS // 2] for key in some]
    request = engine.request(hashes)

    assert engine.match(request) is None
    assert daemon.status()["blocks"]["ssd"] == 0
    assert engine.hits(request) == len(hashes)
    assert engine.match(request) == len(hashes)
    engine.side.finished(request)
    assert daemon.status()["blocks"]["ssd"] == len(hashes)


def test_requests_that_go_while_their_blocks_come_leave_nothing(
    daemon: DaemonProcess, engine: ConnectedEngine, saved: Saved
) -> None:
    begin_anew(daemon, engine)
    hashes = [key for some, _ in saved for key in some]
    waited = 0
    for number in range(10):
        request = engine.request(hashes[number * 32 :])
        waited += engine.match(request) is None
        engine.step()
        engine.side.finished(request)
    assert waited > 0

    def is_idle() -> bool:
        status = daemon.status()
        fetches = status["ssd"]["fetches"]
        left = (
            fetches["lookups"],
            fetches["in_flight_bytes"],
            fetches["queued_bytes"],
            status["pool"]["pinned_blocks"],
            status["pool"]["in_flight_pages"],
            status["leases"]["held"],
        )
        return not any(left)

    wait_until(is_idle, "nothing is left of them", _REATTACH_S)
    assert engine.hit_count([os.urandom(32)]) == 0
