"""Connections that end anywhere in what the daemon says cost real vLLM no token."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.engine.attaching import wait_attached
from tests.engine.cut_points import CutPoints
from tests.engine.daemon import DaemonProcess
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.vllm_install import VllmInstall

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

CUTS: Final = 24
_ATTACH_S: Final = 30.0


@pytest.fixture(scope="module")
def cut_points(tmp_path_factory: pytest.TempPathFactory) -> CutPoints:
    return CutPoints(tmp_path_factory.mktemp("cut_points"))


@pytest.fixture(scope="module")
def cut_daemon(cut_points: CutPoints) -> Iterator[DaemonProcess]:
    with DaemonProcess(environment=cut_points.environment) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def cut_engine(
    install: VllmInstall,
    model: Path,
    cut_daemon: DaemonProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SteppedEngine]:
    log = tmp_path_factory.mktemp("cut_engine") / "engine.log"
    with SteppedEngine(install, model, cut_daemon.socket, log) as engine:
        yield engine


def test_a_request_whose_answers_are_cut_anywhere_is_right(
    cut_engine: SteppedEngine, cut_daemon: DaemonProcess, cut_points: CutPoints
) -> None:
    loaded, saved = random_prompt(300), random_prompt(300)
    wait_attached(cut_engine, cut_daemon, _ATTACH_S)
    cold = cut_engine.generate(loaded)
    cut_engine.reset()
    before = cut_points.sent()
    cold.assert_same(cut_engine.generate(loaded))
    cut_engine.generate(saved)
    length = cut_points.sent() - before
    cuts = 0
    for at in range(CUTS):
        cut_engine.reset()
        wait_attached(cut_engine, cut_daemon, _ATTACH_S)
        cut_points.cut_after(at * length // CUTS)
        cold.assert_same(cut_engine.generate(loaded))
        # Saved for the first time: its answers are there to be cut, whatever became of the load.
        cut_engine.generate(random_prompt(300))
        cuts += cut_points.disarm()
    assert cuts > CUTS // 2, "the daemon's answers are not as long as they were at first"
    wait_attached(cut_engine, cut_daemon, _ATTACH_S)
    assert_nothing_left(cut_engine, cut_daemon)
