"""A daemon killed and started again costs real vLLM no token, and its blocks are hit again."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.attaching import wait_attached
from tests.engine.conftest import STEP_TOKENS
from tests.engine.daemon import DaemonProcess
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.pool_file import all_have_checksums
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import Answer, SteppedEngine
from tests.engine.vllm_install import VllmInstall
from tests.engine.waiting import wait_until
from tests.fence.stop_points import StopPoints

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

REATTACH_S = 30.0
"""Ten times the failure contract's bound, which ``make bench`` measures: machines may be busy."""

_CHECKSUMS_S = 30.0
PROMPT_TOKENS = 600
CACHED_TOKENS = 576


@pytest.fixture(scope="module")
def restarted(stop_points: StopPoints) -> Iterator[DaemonProcess]:
    """A daemon that is killed and started again here."""
    with DaemonProcess(environment=stop_points.environment) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def its_engine(
    install: VllmInstall,
    model: Path,
    restarted: DaemonProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SteppedEngine]:
    log = tmp_path_factory.mktemp("its_engine") / "engine.log"
    with SteppedEngine(
        install, model, restarted.socket, log, max_num_batched_tokens=STEP_TOKENS
    ) as engine:
        wait_attached(engine, restarted, REATTACH_S)
        yield engine


@pytest.fixture
def prompt() -> tuple[int, ...]:
    return random_prompt(PROMPT_TOKENS)


@pytest.fixture
def cold(its_engine: SteppedEngine, restarted: DaemonProcess, prompt: tuple[int, ...]) -> Answer:
    """The answer to ``prompt``, whose blocks the next daemon will have."""
    cold = its_engine.generate(prompt)
    wait_hit(its_engine, cold, prompt)
    pool = Path(restarted.status()["pool"]["path"])
    wait_until(lambda: all_have_checksums(pool), "all have checksums", _CHECKSUMS_S)
    return cold


def wait_hit(engine: SteppedEngine, cold: Answer, prompt: tuple[int, ...]) -> None:
    """Ask for ``prompt`` until all its blocks come from the daemon; no answer differs."""

    def is_hit() -> bool:
        engine.reset()
        before = engine.hits()
        cold.assert_same(engine.generate(prompt))
        return engine.hits().since(before).external == CACHED_TOKENS

    wait_until(is_hit, "all blocks are hit", REATTACH_S)
    engine.reset()


def assert_hit_again(
    engine: SteppedEngine, daemon: DaemonProcess, cold: Answer, prompt: tuple[int, ...]
) -> None:
    """Within the bound ``prompt`` is answered from the blocks that ``daemon`` found."""
    wait_attached(engine, daemon, REATTACH_S)
    wait_hit(engine, cold, prompt)
    status = daemon.status()
    assert status["saves"]["blocks"] == 0, f"of the last daemon there was {status['taken_over']}"
    assert_nothing_left(engine, daemon)


def test_a_restart_faster_than_any_ping_is_noticed_by_the_next_request(
    its_engine: SteppedEngine, restarted: DaemonProcess, cold: Answer, prompt: tuple[int, ...]
) -> None:
    restarted.kill()
    restarted.start()
    cold.assert_same(its_engine.generate(prompt))
    assert_hit_again(its_engine, restarted, cold, prompt)


def test_an_engine_that_slept_through_the_restart_finds_the_next_daemon(
    its_engine: SteppedEngine, restarted: DaemonProcess, cold: Answer, prompt: tuple[int, ...]
) -> None:
    os.kill(its_engine.pid, signal.SIGSTOP)
    restarted.kill()
    restarted.start()
    os.kill(its_engine.pid, signal.SIGCONT)
    cold.assert_same(its_engine.generate(prompt))
    assert_hit_again(its_engine, restarted, cold, prompt)


def test_a_load_ordered_from_the_last_daemon_is_computed_instead(
    its_engine: SteppedEngine, restarted: DaemonProcess, cold: Answer, prompt: tuple[int, ...]
) -> None:
    def restart() -> None:
        restarted.kill()
        restarted.start()

    request = its_engine.add(prompt)
    its_engine.step_into_load(restart)
    cold.assert_same(its_engine.drain()[request])
    assert_hit_again(its_engine, restarted, cold, prompt)


def test_a_load_in_mid_copy_when_the_daemon_is_killed_is_computed_instead(
    its_engine: SteppedEngine,
    restarted: DaemonProcess,
    stop_points: StopPoints,
    cold: Answer,
    prompt: tuple[int, ...],
) -> None:
    stop_points.arm(0)
    its_engine.generate(prompt)
    steps = stop_points.disarm()
    its_engine.reset()
    request = its_engine.add(prompt)
    its_engine.step_into_load(lambda: stop_points.arm(steps // 2))
    restarted.wait_stopped()
    stop_points.disarm()
    assert its_engine.step() == [], "a request whose blocks may still be written has ended"
    assert list(its_engine.requests().values()) == ["WAITING_FOR_REMOTE_KVS"]

    restarted.kill()
    restarted.start()

    cold.assert_same(its_engine.drain()[request])
    assert_hit_again(its_engine, restarted, cold, prompt)
