"""Loads that fail again and again cost time, no token, and no endless lookups."""

from collections.abc import Iterator

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.fence.stop_points import StopPoints

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

REQUESTS = 3
BLOCKS = 9


@pytest.fixture
def failing(stop_points: StopPoints) -> Iterator[StopPoints]:
    """A daemon of which no load works until it is told otherwise."""
    yield stop_points
    stop_points.fail_loads(False)


def test_requests_whose_loads_always_fail_are_computed_after_one_lookup_each(
    engine: SteppedEngine, daemon: DaemonProcess, failing: StopPoints
) -> None:
    prompt = random_prompt(300)
    cold = engine.generate(prompt)
    before = daemon.status()
    failing.fail_loads(True)
    for _ in range(REQUESTS):
        engine.reset()
        cold.assert_same(engine.generate(prompt))
    after = daemon.status()
    assert after["blocks"]["requested"] - before["blocks"]["requested"] == REQUESTS * BLOCKS
    assert after["loads"]["failures"] - before["loads"]["failures"] == REQUESTS
    assert_nothing_left(engine, daemon)

    failing.fail_loads(False)
    engine.reset()
    hits = engine.hits()
    cold.assert_same(engine.generate(prompt))
    assert engine.hits().since(hits).external == BLOCKS * 32
