"""What the daemon takes besides the pool: memory a page, memory in all, processor time at rest."""

import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.rows import Row
from tests.engine.daemon import DaemonProcess
from tests.engine.pool_file import SLOT_RECORD_BYTES
from tests.engine.process_memory import own_bytes
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import EngineMemory, Shape

_SMALL_PAGES = Shape(num_blocks=16_384, layers=1, segment_bytes=4 << 10)
_FILLS = 16
_METADATA_BYTES = 160.0
_RSS_MB = 80.0
_IDLE_S = 10.0
_IDLE_PERCENT = 0.5


def rows() -> Iterator[Row]:
    """Resident bytes without the pool, processor time of an idle daemon, metadata of a page."""
    with DaemonProcess(pool_size="2GiB") as daemon:
        memory = EngineMemory(_SMALL_PAGES)
        with AttachedEngine(daemon.socket, memory) as engine:
            yield Row("resident memory without the pool", _own_mb(daemon.pid), "MB", _RSS_MB)
            yield Row(
                "idle daemon with one engine attached",
                round(_busy_percent(daemon.pid), 3),
                "% of a core",
                _IDLE_PERCENT,
            )
            _fill(engine, 1)
            # After the first save, so that what a save takes for a while is not counted as kept.
            pages, before = -daemon.blocks(), own_bytes(daemon.pid)
            _fill(engine, _FILLS - 1)
            pages += daemon.blocks()
            grown = own_bytes(daemon.pid) - before
        yield Row(
            f"metadata of a page with its slot record, {pages} more pages",
            round(SLOT_RECORD_BYTES + grown / pages, 1),
            "bytes",
            _METADATA_BYTES,
        )


def _fill(engine: AttachedEngine, times: int) -> None:
    for _ in range(times):
        hashes = fresh_hashes(_SMALL_PAGES.num_blocks)
        assert engine.save(hashes, range(_SMALL_PAGES.num_blocks)).ok


def _own_mb(pid: int) -> float:
    return round(own_bytes(pid) / 1e6, 1)


def _busy_percent(pid: int) -> float:
    began, busy = time.monotonic(), _busy_s(pid)
    time.sleep(_IDLE_S)
    return 100 * (_busy_s(pid) - busy) / (time.monotonic() - began)


def _busy_s(pid: int) -> float:
    """Processor time of all threads, from the scheduler's own nanoseconds."""
    times = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text(encoding="utf-8").split()[0]) for file in times) / 1e9
