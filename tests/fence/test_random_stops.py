"""Daemons stopped at any time in large transfers: the fence holds between its steps too."""

import random
import time
from collections.abc import Iterator

import pytest

from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import EngineMemory, Shape

ROUNDS = 25
LARGE = Shape(num_blocks=192, layers=32, segment_bytes=32 << 10)
"""1 MiB a block."""

SOURCE = range(0, 96)
TARGET = range(96, 192)


@pytest.fixture(scope="module")
def large(daemon: DaemonProcess) -> Iterator[AttachedEngine]:
    with AttachedEngine(daemon.socket, EngineMemory(LARGE)) as engine:
        yield engine


def stop_within(daemon: DaemonProcess, seconds: float) -> None:
    """Stop the daemon at a random time from now, which is what is tested here."""
    time.sleep(random.uniform(0, seconds))
    daemon.pause()


def test_reused_blocks_keep_their_bytes_whenever_a_load_was_stopped(
    daemon: DaemonProcess, large: AttachedEngine
) -> None:
    hashes = fresh_hashes(len(SOURCE))
    large.memory.refill(SOURCE)
    assert large.save(hashes, SOURCE).ok
    whole = large.load(hashes, TARGET).seconds
    for _ in range(ROUNDS):
        transfer = large.start_load(hashes, TARGET)
        stop_within(daemon, 1.2 * whole)
        is_free = large.worker.revoke(transfer)
        if not is_free:
            daemon.resume()
            large.wait_end(transfer)
        used_again = large.memory.refill(TARGET)
        if is_free:
            daemon.resume()
            large.wait_end(transfer)
        # The same copy threads have done a whole load since: nothing of the stopped one is left.
        assert large.load(hashes, SOURCE).ok
        assert large.memory.read(TARGET) == used_again


def test_what_is_sealed_was_offered_whenever_a_save_was_stopped(
    daemon: DaemonProcess, large: AttachedEngine
) -> None:
    large.memory.refill(SOURCE)
    whole = large.save(fresh_hashes(len(SOURCE)), SOURCE).seconds
    for _ in range(ROUNDS):
        hashes = fresh_hashes(len(SOURCE))
        offered = large.memory.refill(SOURCE)
        transfer = large.start_save(hashes, SOURCE)
        stop_within(daemon, 1.2 * whole)
        large.worker.revoke(transfer)
        large.memory.refill(SOURCE)
        daemon.resume()
        large.wait_end(transfer)
        if sealed := large.hit_count(hashes):
            assert large.load(hashes[:sealed], TARGET[:sealed]).ok
            assert large.memory.read(TARGET[:sealed]) == offered[:sealed]
