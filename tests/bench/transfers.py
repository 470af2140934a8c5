"""Saves and loads through the RPC, beside what the copy engine alone reaches in the same run."""

import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from tests.bench.rows import Row, median
from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import EngineMemory, Shape

_SHAPE: Final = Shape(num_blocks=1024, layers=32, segment_bytes=32 << 10)
"""1 GiB in blocks of 1 MiB, which are 32 segments of 32 KiB each, scattered."""

_BLOCKS: Final = (64, 128, 256)
_ROUNDS: Final = 7
_SHARE: Final = 0.9


def rows(save_alone: float, load_alone: float) -> Iterator[Row]:
    """Rates in GB/s; the arguments are the copy engine's own with two threads."""
    with DaemonProcess(pool_size="4GiB") as daemon:
        memory = EngineMemory(_SHAPE)
        for block in range(_SHAPE.num_blocks):
            memory.write(block, os.urandom(_SHAPE.block_bytes))
        with AttachedEngine(daemon.socket, memory) as engine:
            for count in _BLOCKS:
                saves, loads = _rates(engine, count)
                name = f"through the RPC, {count} blocks of 1 MiB"
                yield Row(f"save {name}", saves, "GB/s", round(_SHARE * save_alone, 2), "least")
                yield Row(f"load {name}", loads, "GB/s", round(_SHARE * load_alone, 2), "least")


def _rates(engine: AttachedEngine, count: int) -> tuple[float, float]:
    saves, loads = [], []
    for _ in range(_ROUNDS):
        hashes = fresh_hashes(count)
        blocks = random.sample(range(_SHAPE.num_blocks), count)
        saves.append(_rate(engine, partial(engine.start_save, hashes, blocks)))
        request, answer = engine.lookup(hashes)
        assert answer.memory_blocks == count, "the pool is too small for this measurement"
        lease = engine.scheduler.take(request)
        assert lease is not None
        loads.append(_rate(engine, partial(engine.worker.load, request, *lease, 0, blocks)))
    return median(saves, 2), median(loads, 2)


def _rate(engine: AttachedEngine, start: Callable[[], int]) -> float:
    """GB/s by the client's own clock; it waits asleep, for the copies need both cores."""
    end = engine.wait_end(start())
    assert end.ok, end.message
    return end.bytes / end.seconds / 1e9
