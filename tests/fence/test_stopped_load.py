"""A daemon that is stopped in a load and goes on later leaves blocks alone that were used again."""

import pytest

from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.stop_points import StopPoints

SOURCE = range(0, 32)
TARGET = range(32, 64)
WITNESS = range(64, 96)


@pytest.fixture
def cached(engine: AttachedEngine) -> list[bytes]:
    """Hashes whose blocks the daemon has, as ``SOURCE`` holds them."""
    hashes = fresh_hashes(len(SOURCE))
    engine.memory.refill(SOURCE)
    assert engine.save(hashes, SOURCE).ok
    return hashes


def steps_of_a_load(engine: AttachedEngine, stop_points: StopPoints, cached: list[bytes]) -> int:
    stop_points.arm(0)
    assert engine.load(cached, TARGET).ok
    steps = stop_points.disarm()
    assert steps >= 4, "the preloaded library sees neither copies nor grant words"
    return steps


def test_blocks_used_again_after_a_revoke_keep_their_bytes_wherever_the_load_stopped(
    daemon: DaemonProcess, engine: AttachedEngine, stop_points: StopPoints, cached: list[bytes]
) -> None:
    freed_at_once = 0
    steps = steps_of_a_load(engine, stop_points, cached)
    for step in range(1, steps + 1):
        engine.memory.refill(TARGET)
        stop_points.arm(step)
        transfer = engine.start_load(cached, TARGET)
        daemon.wait_stopped()
        stop_points.disarm()

        is_free = engine.worker.revoke(transfer)
        if not is_free:
            assert engine.worker.poll() == [], (
                f"step {step}: ended while the daemon holds the grant"
            )
            daemon.resume()
            engine.wait_end(transfer)
        used_again = engine.memory.refill(TARGET)
        if is_free:
            daemon.resume()
            engine.wait_end(transfer)
        freed_at_once += is_free

        # The same copy threads have done a whole load since: nothing of the stopped one is left.
        assert engine.load(cached, WITNESS).ok
        assert engine.memory.read(WITNESS) == engine.memory.read(SOURCE), f"step {step}"
        assert engine.memory.read(TARGET) == used_again, f"step {step} of {steps}"
    assert 0 < freed_at_once < steps, "both kinds of stop were met: grant taken, and not taken"


def test_a_stopped_load_whose_grant_is_ignored_does_overwrite(
    daemon: DaemonProcess, engine: AttachedEngine, stop_points: StopPoints, cached: list[bytes]
) -> None:
    """The control: were the answer of revoke ignored, the tests here would see the damage."""
    steps = steps_of_a_load(engine, stop_points, cached)
    stop_points.arm(steps // 4)
    transfer = engine.start_load(cached, TARGET)
    daemon.wait_stopped()
    stop_points.disarm()
    assert not engine.worker.revoke(transfer)
    used_again = engine.memory.refill(TARGET)
    daemon.resume()
    engine.wait_end(transfer)
    assert engine.memory.read(TARGET) != used_again


def test_a_load_stopped_with_its_grant_taken_ends_when_the_daemon_is_killed(
    daemon: DaemonProcess, engine: AttachedEngine, stop_points: StopPoints, cached: list[bytes]
) -> None:
    steps = steps_of_a_load(engine, stop_points, cached)
    stop_points.arm(steps // 2)
    transfer = engine.start_load(cached, TARGET)
    daemon.wait_stopped()
    assert not engine.worker.revoke(transfer)
    assert engine.worker.poll() == []

    daemon.kill()

    end = engine.wait_end(transfer)
    assert not end.ok
    used_again = engine.memory.refill(TARGET)
    daemon.start()
    engine.wait_attached()
    assert engine.memory.read(TARGET) == used_again
