"""One daemon and one stepped engine for the suite; tests keep apart by fresh prompts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pegaflow.bench.tiny_model import write_tiny_model
from tests.engine.daemon import DaemonProcess
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.vllm_install import VllmInstall
from tests.fence.stop_points import StopPoints

STEP_TOKENS = 256
"""Tokens that one step computes at most: longer prompts are prefilled in chunks."""


@pytest.fixture(scope="session")
def install() -> VllmInstall:
    return VllmInstall.chosen()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def stop_points(tmp_path_factory: pytest.TempPathFactory) -> StopPoints:
    return StopPoints(tmp_path_factory.mktemp("stop_points"))


@pytest.fixture(scope="session")
def daemon(stop_points: StopPoints) -> Iterator[DaemonProcess]:
    with DaemonProcess(environment=stop_points.environment) as daemon:
        yield daemon


@pytest.fixture(scope="session")
def shared_engine(
    install: VllmInstall,
    model: Path,
    daemon: DaemonProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SteppedEngine]:
    log = tmp_path_factory.mktemp("engine") / "engine.log"
    with SteppedEngine(
        install, model, daemon.socket, log, max_num_batched_tokens=STEP_TOKENS
    ) as engine:
        yield engine


@pytest.fixture
def engine(shared_engine: SteppedEngine) -> SteppedEngine:
    """The suite's engine with an empty prefix cache of its own."""
    shared_engine.drain()
    shared_engine.reset()
    return shared_engine
