"""An abort at any point leaves nothing behind, and what it leaves cached is right."""

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.vllm_install import BLOCK_TOKENS
from tests.fence.stop_points import StopPoints

pytestmark = pytest.mark.engine

GENERATE = 6
MOST_STEPS = 60
"""More steps than a request of the kind below takes, however long its load lasts."""


def abort_after(engine: SteppedEngine, prompt: tuple[int, ...], steps: int) -> bool:
    """Abort after so many steps; False when the request had ended before."""
    request = engine.add(prompt, GENERATE)
    for _ in range(steps):
        if any(answer.request == request for answer in engine.step()):
            engine.drain()
            return False
    engine.abort(request)
    assert engine.drain() == {}
    return True


def test_an_abort_after_any_step_of_a_computed_prompt(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    steps = 0
    while True:
        prompt = random_prompt(600)
        was_aborted = abort_after(engine, prompt, steps)
        assert_nothing_left(engine, daemon)
        with_leftovers = engine.generate(prompt, GENERATE)
        engine.reset()
        with_leftovers.assert_same(engine.generate(prompt, GENERATE))
        engine.reset()
        if not was_aborted:
            break
        steps += 1
    assert steps > GENERATE


def test_an_abort_after_any_step_of_a_loaded_prompt(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    prompt = random_prompt(600)
    cold = engine.generate(prompt, GENERATE)
    engine.reset()
    steps = 0
    while abort_after(engine, prompt, steps) and steps < MOST_STEPS:
        assert_nothing_left(engine, daemon)
        engine.reset()
        steps += 1
    assert steps > GENERATE
    cold.assert_same(engine.generate(prompt, GENERATE))


def test_an_abort_right_after_the_load_began(engine: SteppedEngine, daemon: DaemonProcess) -> None:
    prompt = random_prompt(600)
    cold = engine.generate(prompt)
    engine.reset()
    request = engine.add(prompt)
    engine.step_into_load()
    engine.abort(request)
    engine.drain()

    assert_nothing_left(engine, daemon)
    engine.reset()
    cold.assert_same(engine.generate(prompt))


def test_an_aborted_request_keeps_its_blocks_while_the_daemon_may_write_them(
    engine: SteppedEngine, daemon: DaemonProcess, stop_points: StopPoints
) -> None:
    prompt = random_prompt(600)
    cold = engine.generate(prompt)
    engine.reset()
    stop_points.arm(0)
    engine.generate(prompt)
    steps = stop_points.disarm()
    engine.reset()

    request = engine.add(prompt)
    engine.step_into_load(lambda: stop_points.arm(steps // 2))
    daemon.wait_stopped()
    stop_points.disarm()
    engine.abort(request)
    for _ in range(50):
        engine.step()
    (held,) = engine.requests()
    assert held.startswith(request)
    assert engine.used_blocks() >= len(prompt) // BLOCK_TOKENS

    daemon.resume()
    engine.drain()
    assert_nothing_left(engine, daemon)
    engine.reset()
    cold.assert_same(engine.generate(prompt))


def test_an_abort_before_a_stopped_daemon_took_the_load(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    prompt = random_prompt(600)
    cold = engine.generate(prompt)
    engine.reset()
    request = engine.add(prompt)
    engine.step_into_load(daemon.pause)
    engine.step()
    engine.abort(request)
    other = random_prompt(300)
    beside = engine.generate(other)
    daemon.resume()
    engine.drain()

    assert_nothing_left(engine, daemon)
    engine.reset()
    beside.assert_same(engine.generate(other))
    engine.reset()
    cold.assert_same(engine.generate(prompt))
