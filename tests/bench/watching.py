"""What it costs to record lookups and to sample them for the what-if curve."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pegaflow.client import Client
from tests.bench.lookup_client import PAGE
from tests.bench.rows import Row
from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import HASH_BYTES, EngineMemory

_RATE: Final = 50
_HASHES: Final = 1000
_SECONDS: Final = 60.0
_MOST_PERCENT: Final = 1.0
_WAIT_S: Final = 0.05
_THREADS: Final = {"recording": "recording", "what-if": "sampling for the what-if curve"}
"""The daemon's threads, and what each does."""


def rows() -> Iterator[Row]:
    """Processor time of both threads at a steady rate, and that nothing was left out for it."""
    with DaemonProcess(pool_size="64MiB") as daemon:
        directory = daemon.directory / "lookups"
        _operate(daemon, "trace-record", directory=str(directory))
        with AttachedEngine(daemon.socket, EngineMemory(PAGE)) as engine:
            began, before = time.monotonic(), _busy_s(daemon.pid)
            _look_up(engine)
            after, seconds = _busy_s(daemon.pid), time.monotonic() - began
        recorded = _operate(daemon, "trace-stop")
    rate = f"{_RATE} lookups/s of {_HASHES} new hashes for {seconds:.0f} s"
    for thread, what in _THREADS.items():
        percent = 100 * (after[thread] - before[thread]) / seconds
        yield Row(f"{what}, {rate}", round(percent, 2), "% of a core", _MOST_PERCENT)
    name = f"left out of the recording, of {recorded['lookups'] + recorded['left_out']} lookups"
    yield Row(name, recorded["left_out"], "lookups", 0.0)
    a_hash = recorded["bytes"] / max(recorded["lookups"] * _HASHES, 1)
    yield Row("recording, bytes of disk for a hash", round(a_hash, 2), "bytes")


def _operate(daemon: DaemonProcess, name: str, **fields: str) -> dict[str, Any]:
    operation = Client(str(daemon.socket)).operate(name, **fields)
    while not isinstance(event := operation.next(), str):
        pass
    result: dict[str, Any] = json.loads(event)
    return result


def _look_up(engine: AttachedEngine) -> None:
    """Lookups that nothing is cached of and no earlier one has in common: the dearest to record."""
    due = time.monotonic()
    for _ in range(round(_RATE * _SECONDS)):
        time.sleep(max(0.0, due - time.monotonic()))
        request = engine.new_request()
        engine.scheduler.lookup(request, os.urandom(_HASHES * HASH_BYTES), HASH_BYTES, _WAIT_S)
        engine.scheduler.forget(request)
        due += 1 / _RATE


def _busy_s(pid: int) -> dict[str, float]:
    """Processor time of each thread by its name, from the scheduler's own nanoseconds."""
    busy = dict[str, float]()
    for task in list(Path(f"/proc/{pid}/task").iterdir()):
        name = (task / "comm").read_text(encoding="utf-8").strip()
        busy[name] = int((task / "schedstat").read_text(encoding="utf-8").split()[0]) / 1e9
    return busy
