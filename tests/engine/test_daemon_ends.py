"""With no daemon, a killed one or a hanging one, every request is answered and right."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.attaching import wait_attached
from tests.engine.conftest import STEP_TOKENS
from tests.engine.daemon import DaemonProcess
from tests.engine.hits import Hits
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.vllm_install import VllmInstall
from tests.engine.waiting import wait_until

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

REATTACH_S = 30.0
"""Ten times the failure contract's bound, which ``make bench`` measures: machines may be busy."""


@pytest.fixture(scope="module")
def own_daemon() -> Iterator[DaemonProcess]:
    """A daemon that no other test needs: it is killed here. It does not run at first."""
    with DaemonProcess() as daemon:
        daemon.kill()
        yield daemon


@pytest.fixture(scope="module")
def own_engine(
    install: VllmInstall,
    model: Path,
    own_daemon: DaemonProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SteppedEngine]:
    """An engine that was started with no daemon."""
    log = tmp_path_factory.mktemp("own_engine") / "engine.log"
    with SteppedEngine(
        install, model, own_daemon.socket, log, max_num_batched_tokens=STEP_TOKENS
    ) as engine:
        yield engine


def test_an_engine_started_with_no_daemon_serves_and_attaches_when_one_comes(
    own_engine: SteppedEngine, own_daemon: DaemonProcess
) -> None:
    prompt = random_prompt(100)
    cold = own_engine.generate(prompt)
    assert cold.reason == "length"
    assert own_engine.hits() == Hits(local=0, external=0)
    own_engine.reset()

    own_daemon.start()
    wait_attached(own_engine, own_daemon, REATTACH_S)

    cold.assert_same(own_engine.generate(prompt))
    own_engine.reset()
    before = own_engine.hits()
    cold.assert_same(own_engine.generate(prompt))
    assert own_engine.hits().since(before).external == 96


def test_a_daemon_killed_between_lookup_and_load_costs_no_token(
    own_engine: SteppedEngine, own_daemon: DaemonProcess
) -> None:
    prompt = random_prompt(600)
    cold = own_engine.generate(prompt)
    own_engine.reset()
    request = own_engine.add(prompt)
    own_engine.step_into_load(own_daemon.kill)
    answers = own_engine.drain()

    cold.assert_same(answers[request])
    assert own_engine.requests() == {}
    assert own_engine.used_blocks() == 0


def test_a_killed_daemon_is_missed_by_nobody_and_the_next_one_is_used(
    own_engine: SteppedEngine, own_daemon: DaemonProcess
) -> None:
    prompt = random_prompt(300)
    without = own_engine.generate(prompt)
    own_engine.reset()

    own_daemon.start()
    wait_attached(own_engine, own_daemon, REATTACH_S)

    without.assert_same(own_engine.generate(prompt))
    own_engine.reset()
    before = own_engine.hits()
    without.assert_same(own_engine.generate(prompt))
    assert own_engine.hits().since(before).external == 288
    assert_nothing_left(own_engine, own_daemon)


def test_a_daemon_killed_at_any_step_of_a_request_costs_no_token(
    own_engine: SteppedEngine, own_daemon: DaemonProcess
) -> None:
    prompt = random_prompt(600)
    cold = own_engine.generate(prompt)
    for steps in range(6):
        own_engine.reset()
        request = own_engine.add(prompt)
        answers = [answer for _ in range(steps) for answer in own_engine.step()]
        own_daemon.kill()
        answers += own_engine.drain().values()
        (answer,) = (answer for answer in answers if answer.request == request)
        cold.assert_same(answer)
        own_daemon.start()
        wait_attached(own_engine, own_daemon, REATTACH_S)
        own_engine.reset()
        own_engine.generate(prompt)


def test_a_daemon_that_hangs_is_not_waited_for(
    own_engine: SteppedEngine, own_daemon: DaemonProcess
) -> None:
    prompt = random_prompt(300)
    cold = own_engine.generate(prompt)
    own_engine.reset()

    own_daemon.pause()
    hanging = own_engine.generate(prompt)
    more = own_engine.generate(random_prompt(300))
    own_daemon.resume()

    cold.assert_same(hanging)
    assert more.reason == "length"
    own_engine.reset()
    wait_attached(own_engine, own_daemon, REATTACH_S)

    def is_used_again() -> bool:
        own_engine.reset()
        before = own_engine.hits()
        cold.assert_same(own_engine.generate(prompt))
        return own_engine.hits().since(before).external == 288

    wait_until(is_used_again, "the breaker closes", REATTACH_S)
    assert_nothing_left(own_engine, own_daemon)
