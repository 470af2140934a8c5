"""How long a daemon that stops, ends or restarts holds the scheduler, and keeps an engine away."""

import time
from collections.abc import Iterator
from typing import Final

from pegaflow.bench.figures import percentile
from tests.bench.rows import Row
from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.engine_memory import EngineMemory, Shape
from tests.restart.connected_engine import ConnectedEngine
from tests.restart.lookup_times import EVENTS, LookupTimes

_SHAPE: Final = Shape(num_blocks=64, layers=4, segment_bytes=4 << 10)
_CALL_US: Final = 5_000.0
_REATTACH_S: Final = 3.0
_RESTARTS: Final = 5


def rows() -> Iterator[Row]:
    """The connector's lookup call in each case, and the return of an engine after a restart."""
    for event in EVENTS:
        with (
            DaemonProcess(pool_size="64MiB") as daemon,
            ConnectedEngine(daemon.socket, EngineMemory(_SHAPE)) as engine,
        ):
            engine.wait_attached()
            laps = [seconds * 1e6 for seconds in LookupTimes(daemon, engine, event).calls]
            name = f"connector's lookup call while the daemon is {event}, p99"
            yield Row(name, percentile(laps, 99), "us", _CALL_US)
    yield Row("engine re-attached after the daemon's return", _reattach_s(), "s", _REATTACH_S)


def _reattach_s() -> float:
    """The longest of some restarts, from the daemon's first answer to a whole engine."""
    longest = 0.0
    with (
        DaemonProcess(pool_size="64MiB") as daemon,
        ConnectedEngine(daemon.socket, EngineMemory(_SHAPE)) as engine,
    ):
        engine.wait_attached()
        for _ in range(_RESTARTS):
            daemon.kill()
            daemon.launch()
            began = time.monotonic()
            wait_until(lambda: daemon.complete_engines() == 1, "the engine is back", 30)
            longest = max(longest, time.monotonic() - began)
    return round(longest, 3)
