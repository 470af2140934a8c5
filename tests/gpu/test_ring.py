"""Transfers by a ring in which the engine collects small runs, also at a kill or a hang."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import fresh_hashes
from tests.fence.engine_memory import Shape
from tests.gpu.conftest import PROGRAM
from tests.gpu.gpu_engine import GpuEngine

SHAPE: Final = Shape(num_blocks=1_024, layers=32, segment_bytes=4 << 10)
"""Runs of 4 KiB; all blocks are twice as many bytes as the ring."""
BLOCKS: Final = range(8)
OTHERS: Final = range(8, 16)
LATER_MS: Final = 2_000
MINUTE_S: Final = 60.0


@contextmanager
def _engine(
    environment: Mapping[str, str], strategy: str = "gather"
) -> Iterator[tuple[DaemonProcess, GpuEngine]]:
    options = ["--pool-size=512MiB", f"--copy-strategy={strategy}"]
    with (
        DaemonProcess(environment=environment, options=options, program=PROGRAM) as daemon,
        GpuEngine(daemon.socket, SHAPE, environment) as engine,
    ):
        yield daemon, engine


def _shown(daemon: DaemonProcess) -> dict[str, Any]:
    devices = daemon.status()["gpus"]["devices"]
    (shown,) = [engine for device in devices for engine in device["engines"]]
    return dict(shown)


def test_more_blocks_than_the_ring_holds_come_back_as_they_were_saved(
    environment: Mapping[str, str],
) -> None:
    with _engine(environment) as (daemon, engine):
        shown = _shown(daemon)
        assert shown["copy_strategy"] == "gather"
        assert shown["ring"]["bytes"] < SHAPE.num_blocks * SHAPE.block_bytes
        blocks = range(SHAPE.num_blocks)
        hashes, saved = fresh_hashes(len(blocks)), engine.refill(blocks)
        engine.save(hashes, blocks)
        engine.refill(blocks)
        engine.load(hashes, blocks[::-1])
        assert engine.digests(blocks) == saved[::-1]
        wait_until(lambda: daemon.status()["leases"]["held"] == 0, "the lease ends", MINUTE_S)


def test_what_the_daemon_itself_takes_of_a_gpu_is_shown_and_bounded(
    environment: Mapping[str, str],
) -> None:
    with _engine(environment) as (daemon, _):
        for device in daemon.status()["gpus"]["devices"]:
            # One for everything of the daemon, staging included; the ring is the engine's.
            assert 64 << 20 <= device["own_bytes"] <= 600 << 20


@pytest.mark.parametrize("strategy", ["batch", "plain"])
def test_no_ring_is_used_where_another_way_is_set(
    environment: Mapping[str, str], strategy: str
) -> None:
    with _engine(environment, strategy) as (daemon, _):
        shown = _shown(daemon)
        assert (shown["copy_strategy"], shown["ring"]) == (strategy, None)


def test_a_load_whose_bytes_are_in_the_ring_ends_well_without_the_daemon(
    environment: Mapping[str, str],
) -> None:
    with _engine(environment) as (daemon, engine):
        hashes, saved = fresh_hashes(len(BLOCKS)), engine.refill(BLOCKS)
        engine.save(hashes, BLOCKS)
        engine.fill_later(7, LATER_MS)
        transfer = engine.start_load(hashes, OTHERS, engine.mark())
        wait_until(engine.is_scattering, "the bytes are in the ring", MINUTE_S)
        daemon.kill()
        end = engine.wait_end(transfer)
        assert end["ok"], end
        assert engine.digests(OTHERS) == saved


def test_blocks_are_not_free_before_the_engines_own_kernel_has_written_them(
    environment: Mapping[str, str],
) -> None:
    with _engine(environment) as (_, engine):
        hashes, saved = fresh_hashes(len(BLOCKS)), engine.refill(BLOCKS)
        engine.save(hashes, BLOCKS)
        engine.fill_later(7, 5 * LATER_MS)
        transfer = engine.start_load(hashes, OTHERS, engine.mark())
        wait_until(engine.is_scattering, "the bytes are in the ring", MINUTE_S)
        assert not engine.revoke(transfer)
        engine.wait_end(transfer)
        assert engine.digests(OTHERS) == saved


def test_a_daemon_that_hangs_keeps_no_block_of_a_load_that_is_revoked(
    environment: Mapping[str, str],
) -> None:
    with _engine(environment) as (daemon, engine):
        hashes = fresh_hashes(len(BLOCKS))
        engine.refill(BLOCKS)
        engine.save(hashes, BLOCKS)
        before = engine.refill(OTHERS)
        lease = engine.lease(hashes)
        daemon.pause()
        transfer = engine.start_leased_load(lease, OTHERS, engine.mark())
        assert engine.revoke(transfer)
        assert not engine.wait_end(transfer)["ok"]
        daemon.resume()
        # What was late does not come to the blocks.
        wait_until(lambda: daemon.status()["loads"]["in_flight"] == 0, "the call is over", MINUTE_S)
        assert engine.digests(OTHERS) == before
        wait_until(lambda: daemon.status()["leases"]["held"] == 0, "the lease ends", MINUTE_S)
        engine.load(hashes, OTHERS)


def test_what_is_collected_after_a_save_was_revoked_is_not_kept(
    environment: Mapping[str, str],
) -> None:
    with _engine(environment) as (daemon, engine):
        hashes = fresh_hashes(len(BLOCKS))
        engine.refill(BLOCKS)
        engine.fill_later(7, LATER_MS)
        transfer = engine.start_save(hashes, BLOCKS, engine.mark())
        wait_until(lambda: daemon.status()["saves"]["in_flight"] == 1, "the save waits", MINUTE_S)
        assert engine.revoke(transfer)
        assert not engine.wait_end(transfer)["ok"]
        wait_until(lambda: daemon.status()["saves"]["in_flight"] == 0, "the call is over", MINUTE_S)
        assert engine.hit_count(hashes) == 0


def test_a_new_daemon_gets_the_ring_that_the_killed_one_had(
    environment: Mapping[str, str],
) -> None:
    with _engine(environment) as (daemon, engine):
        hashes = fresh_hashes(len(BLOCKS))
        engine.refill(BLOCKS)
        engine.fill_later(7, LATER_MS)
        transfer = engine.start_save(hashes, BLOCKS, engine.mark())
        daemon.kill()
        assert not engine.wait_end(transfer)["ok"]
        daemon.start()
        engine.wait_attached()
        # Once the stream has ended what it had.
        engine.digests(BLOCKS)
        saved = engine.refill(BLOCKS)
        engine.save(hashes, BLOCKS)
        engine.load(hashes, OTHERS)
        assert engine.digests(OTHERS) == saved
        assert _shown(daemon)["copy_strategy"] == "gather"
