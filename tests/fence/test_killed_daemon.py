"""A daemon killed in a transfer, and the next one with its pool, never write a reused block."""

import random
import time
from collections.abc import Sequence

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.stop_points import StopPoints

pytestmark = pytest.mark.timeout(600)

SOURCE = range(0, 32)
TARGET = range(32, 64)
WITNESS = range(64, 96)

STEPS = 6
"""Of a transfer, at which the daemon is killed; each costs a start."""

KILLS = 4
"""At random times."""


@pytest.fixture
def cached(daemon: DaemonProcess, engine: AttachedEngine) -> list[bytes]:
    """Hashes whose blocks the next daemon will have, as ``SOURCE`` holds them."""
    hashes = fresh_hashes(len(SOURCE))
    engine.memory.refill(SOURCE)
    assert engine.save(hashes, SOURCE).ok
    wait_until(lambda: daemon.status()["checksums"]["pending_pages"] == 0, "checksums", 30)
    return hashes


def some_of(steps: int) -> Sequence[int]:
    """The first step, the last one, and others between."""
    return [1 + at * (steps - 1) // (STEPS - 1) for at in range(STEPS)]


def restart(daemon: DaemonProcess, engine: AttachedEngine) -> None:
    daemon.start()
    engine.wait_attached()


def test_a_load_never_writes_after_its_end_wherever_its_daemon_was_killed(
    daemon: DaemonProcess, engine: AttachedEngine, stop_points: StopPoints, cached: list[bytes]
) -> None:
    stop_points.arm(0)
    assert engine.load(cached, TARGET).ok
    for step in some_of(stop_points.disarm()):
        engine.memory.refill(TARGET)
        stop_points.arm(step)
        transfer = engine.start_load(cached, TARGET)
        daemon.wait_stopped()
        stop_points.disarm()

        daemon.kill()

        assert not engine.wait_end(transfer).ok
        used_again = engine.memory.refill(TARGET)
        restart(daemon, engine)
        assert engine.load(cached, WITNESS).ok, "the next daemon has the blocks"
        assert engine.memory.read(WITNESS) == engine.memory.read(SOURCE), f"step {step}"
        assert engine.memory.read(TARGET) == used_again, f"step {step}"


def test_a_load_never_writes_after_its_end_whenever_its_daemon_was_killed(
    daemon: DaemonProcess, engine: AttachedEngine, cached: list[bytes]
) -> None:
    whole = engine.load(cached, TARGET).seconds
    for _ in range(KILLS):
        engine.memory.refill(TARGET)
        transfer = engine.start_load(cached, TARGET)
        # A random time is what is tested here.
        time.sleep(random.uniform(0, 1.2 * whole))
        daemon.kill()
        if engine.wait_end(transfer).ok:
            assert engine.memory.read(TARGET) == engine.memory.read(SOURCE)
        used_again = engine.memory.refill(TARGET)
        restart(daemon, engine)
        assert engine.load(cached, WITNESS).ok
        assert engine.memory.read(WITNESS) == engine.memory.read(SOURCE)
        assert engine.memory.read(TARGET) == used_again


def test_what_the_next_daemon_has_was_offered_wherever_the_last_was_killed_in_a_save(
    daemon: DaemonProcess, engine: AttachedEngine, stop_points: StopPoints
) -> None:
    engine.memory.refill(SOURCE)
    stop_points.arm(0)
    assert engine.save(fresh_hashes(len(SOURCE)), SOURCE).ok
    for step in some_of(stop_points.disarm()):
        hashes = fresh_hashes(len(SOURCE))
        offered = engine.memory.refill(SOURCE)
        stop_points.arm(step)
        transfer = engine.start_save(hashes, SOURCE)
        daemon.wait_stopped()
        stop_points.disarm()

        daemon.kill()

        assert not engine.wait_end(transfer).ok
        engine.memory.refill(SOURCE)
        restart(daemon, engine)
        if sealed := engine.hit_count(hashes):
            assert engine.load(hashes[:sealed], TARGET[:sealed]).ok
            assert engine.memory.read(TARGET[:sealed]) == offered[:sealed], f"step {step}"
