"""A daemon that tests may stop and end, and an engine on it."""

from collections.abc import Iterator

import pytest

from tests.engine.daemon import DaemonProcess
from tests.fence.engine_memory import EngineMemory, Shape
from tests.restart.connected_engine import ConnectedEngine

SHAPE = Shape(num_blocks=96, layers=4, segment_bytes=4 << 10)
"""A page has 16 KiB."""


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    with DaemonProcess(pool_size="64MiB") as daemon:
        yield daemon


@pytest.fixture
def engine(daemon: DaemonProcess) -> Iterator[ConnectedEngine]:
    with ConnectedEngine(daemon.socket, EngineMemory(SHAPE)) as engine:
        engine.wait_attached()
        yield engine
