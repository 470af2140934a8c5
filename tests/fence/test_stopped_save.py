"""A daemon that is stopped in a save and goes on later never seals bytes of blocks used again."""

from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.stop_points import StopPoints

SOURCE = range(0, 32)
TARGET = range(32, 64)


def test_what_is_sealed_is_what_was_offered_wherever_the_save_stopped(
    daemon: DaemonProcess, engine: AttachedEngine, stop_points: StopPoints
) -> None:
    stop_points.arm(0)
    engine.memory.refill(SOURCE)
    assert engine.save(fresh_hashes(len(SOURCE)), SOURCE).ok
    steps = stop_points.disarm()
    assert steps >= 2, "the preloaded library sees neither copies nor grant words"
    for step in range(1, steps + 1):
        hashes = fresh_hashes(len(SOURCE))
        offered = engine.memory.refill(SOURCE)
        stop_points.arm(step)
        transfer = engine.start_save(hashes, SOURCE)
        daemon.wait_stopped()
        stop_points.disarm()

        assert engine.worker.revoke(transfer), "a save's blocks are free at once"
        engine.memory.refill(SOURCE)
        daemon.resume()
        engine.wait_end(transfer)

        # The same copy threads have done a whole save since: nothing of the stopped one is left.
        later = fresh_hashes(len(SOURCE))
        assert engine.save(later, SOURCE).ok
        sealed = engine.hit_count(hashes)
        if sealed:
            blocks = TARGET[:sealed]
            assert engine.load(hashes[:sealed], blocks).ok
            assert engine.memory.read(blocks) == offered[:sealed], f"step {step} of {steps}"


def test_a_revoked_save_can_be_offered_again(
    daemon: DaemonProcess, engine: AttachedEngine, stop_points: StopPoints
) -> None:
    hashes = fresh_hashes(len(SOURCE))
    engine.memory.refill(SOURCE)
    stop_points.arm(1)
    transfer = engine.start_save(hashes, SOURCE)
    daemon.wait_stopped()
    stop_points.disarm()
    assert engine.worker.revoke(transfer)
    daemon.resume()
    assert not engine.wait_end(transfer).ok

    offered = engine.memory.refill(SOURCE)
    assert engine.save(hashes, SOURCE).ok
    assert engine.load(hashes, TARGET).ok
    assert engine.memory.read(TARGET) == offered
