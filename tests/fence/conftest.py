"""A daemon that stops itself at chosen steps, and an engine on it."""

from collections.abc import Iterator

import pytest

from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import EngineMemory, Shape
from tests.fence.stop_points import StopPoints

SHAPE = Shape(num_blocks=96, layers=16, segment_bytes=32 << 10)
"""A transfer of a third of the blocks is 16 MiB: several batches of copies."""


@pytest.fixture(scope="session")
def stop_points(tmp_path_factory: pytest.TempPathFactory) -> StopPoints:
    return StopPoints(tmp_path_factory.mktemp("stop_points"))


@pytest.fixture(scope="session")
def daemon(stop_points: StopPoints) -> Iterator[DaemonProcess]:
    with DaemonProcess("128MiB", environment=stop_points.environment) as daemon:
        yield daemon


@pytest.fixture
def engine(daemon: DaemonProcess) -> Iterator[AttachedEngine]:
    with AttachedEngine(daemon.socket, EngineMemory(SHAPE)) as engine:
        yield engine
