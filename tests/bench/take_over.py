"""A killed daemon's successor: when it answers, when it has all blocks, when engines are back."""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pegaflow.units import format_size
from tests.bench.filling import fill
from tests.bench.rows import Row
from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import EngineMemory, Shape

_POOL_BYTES: Final = 8 << 30
_PAGES: Final = 100_000
_PAGE_BYTES: Final = 72 << 10
"""So large that 100,000 of them are nearly all that the pool holds before it evicts."""

_SHARED_MEMORY: Final = Path("/dev/shm")
_BATCH: Final = 2_000
_LOOKUP: Final = 16_000
"""Fewer hashes than the hits that one call tells."""

_BACK_S: Final = 60.0
_FIRST_ANSWER_S: Final = 1.0
_ALL_HITS_S: Final = 3.0
_ATTACHED_S: Final = 3.0


def rows() -> Iterator[Row]:
    """Seconds; with less room in /dev/shm the pool and the number of pages are smaller."""
    pages, pool_bytes = _PAGES, _POOL_BYTES
    while pool_bytes > shutil.disk_usage(_SHARED_MEMORY).free * 3 // 4:
        pages, pool_bytes = pages // 2, pool_bytes // 2
    name = f"daemon restart, {format_size(pool_bytes)} pool, {pages:,} pages"
    shape = Shape(num_blocks=_BATCH, layers=1, segment_bytes=_PAGE_BYTES)
    with (
        DaemonProcess(pool_size=str(pool_bytes)) as daemon,
        AttachedEngine(daemon.socket, EngineMemory(shape)) as engine,
    ):
        hashes = fill(daemon, engine, pages)
        daemon.kill()
        ended = time.perf_counter()
        daemon.launch()
        answered = time.perf_counter()
        engine.wait_attached()
        attached = time.perf_counter()
        wait_until(lambda: _hit_count(engine, hashes) == pages, "all blocks hit", _BACK_S)
        hit = time.perf_counter()
    yield Row(f"{name}: first answer", round(answered - ended, 2), "s", _FIRST_ANSWER_S)
    yield Row(f"{name}: hits on all", round(hit - ended, 2), "s", _ALL_HITS_S)
    yield Row(f"{name}: engine re-attached", round(attached - answered, 2), "s", _ATTACHED_S)


def _hit_count(engine: AttachedEngine, hashes: Sequence[bytes]) -> int:
    runs = [hashes[start : start + _LOOKUP] for start in range(0, len(hashes), _LOOKUP)]
    return sum(map(engine.hit_count, runs))
