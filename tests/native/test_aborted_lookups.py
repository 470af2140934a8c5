"""Lookups that are given up, at any time, leave nothing leased and nothing pinned."""

import random
from collections.abc import Iterator
from typing import Final

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import HASH_BYTES, EngineMemory, Shape

_LOOKUPS: Final = 10_000
_SHAPE: Final = Shape(num_blocks=64, layers=2, segment_bytes=32 << 10)
_BLOCKS: Final = range(_SHAPE.num_blocks)
_MOST_OPEN: Final = 200
"""Lookups that are open at a time."""


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    with DaemonProcess("64MiB") as daemon:
        yield daemon


@pytest.fixture
def engine(daemon: DaemonProcess) -> Iterator[AttachedEngine]:
    with AttachedEngine(daemon.socket, EngineMemory(_SHAPE)) as engine:
        yield engine


def test_ten_thousand_lookups_that_are_given_up_leave_nothing_leased(
    daemon: DaemonProcess, engine: AttachedEngine
) -> None:
    hashes = fresh_hashes(len(_BLOCKS))
    engine.memory.refill(_BLOCKS)
    assert engine.save(hashes, _BLOCKS).ok
    chance = random.Random(0)
    leased = 0
    for _ in range(_LOOKUPS):
        request = f"request-{chance.randrange(_MOST_OPEN)}"
        wanted = b"".join(hashes[: chance.randint(1, len(hashes))])
        # Not waited for, or for as long as an answer takes: it is given up before, while and after.
        answer = engine.scheduler.lookup(request, wanted, HASH_BYTES, chance.choice([0.0, 0.005]))
        leased += answer.lease_id != 0
        if chance.random() < 0.9:
            engine.scheduler.forget(request)
    for number in range(_MOST_OPEN):
        engine.scheduler.forget(f"request-{number}")
    assert leased > 100, "hardly a lookup was answered in time"

    def is_idle() -> bool:
        status = daemon.patient_status()
        held = status["leases"]["held"], status["leases"]["bytes"]
        return held == (0, 0) and status["pool"]["pinned_blocks"] == 0

    wait_until(is_idle, "nothing is leased", 60.0)
    _assert_all_can_be_evicted(daemon, engine, hashes)


def _assert_all_can_be_evicted(
    daemon: DaemonProcess, engine: AttachedEngine, hashes: list[bytes]
) -> None:
    pool_bytes = daemon.status()["pool"]["bytes"]
    for _ in range(2 * pool_bytes // (_SHAPE.block_bytes * len(_BLOCKS))):
        assert engine.save(fresh_hashes(len(_BLOCKS)), _BLOCKS).bytes > 0
    assert engine.hit_count(hashes) == 0
