"""Copies beside decoding steps never pause, and their effect is told in per cent."""

import time
from collections.abc import Callable

import pytest

from pegaflow.bench.daemon import running_daemon
from pegaflow.bench.decode import Steps, measure_alone, measure_beside
from pegaflow.bench.engine import attached
from pegaflow.bench.layout import BlockLayout
from pegaflow.bench.memory import HostDevice

LAYOUT = BlockLayout("one run across layers", 16, 1, 64 << 10)


class Model:
    """Steps on no GPU, until ``enough`` says so."""

    def __init__(self, enough: Callable[[], bool]) -> None:
        self._enough = enough

    def steps(self, between: Callable[[], None]) -> list[float]:
        """All of one length."""
        deadline, laps = time.monotonic() + 60, [1.0]
        while not self._enough():
            assert time.monotonic() < deadline, "copies have paused"
            laps.append(1.0)
            between()
        return laps


@pytest.mark.parametrize("kinds", [("save",), ("load",), ("save", "load")])
def test_copies_go_on_until_the_last_step_and_none_is_left(kinds: tuple[str, ...]) -> None:
    with (
        running_daemon(64 << 20) as daemon,
        attached(daemon.socket, HostDevice(), LAYOUT) as engine,
    ):

        def went_on() -> bool:
            """Whether each way has had more transfers than are under way at a time."""
            status = daemon.status()
            ways = {"save": status.saves.transfers, "load": status.loads.transfers}
            return all(ways[kind] > 10 for kind in kinds)

        steps = measure_beside(Model(went_on), engine, kinds)
        assert engine.worker.in_flight() == 0
        assert (daemon.status().loads.transfers > 0) == ("load" in kinds)
    assert steps.gb_s > 0


def test_nothing_is_copied_beside_steps_alone() -> None:
    assert measure_alone(Model(lambda: True)).gb_s == 0


def test_the_rise_is_that_over_the_steps_alone() -> None:
    alone, beside = Steps(2.0, 4.0, 0.0), Steps(2.06, 4.4, 50.0)
    assert beside.rise(alone) == (3.0, 10.0)
    assert alone.rise(alone) == (0.0, 0.0)
