"""When daemons are read again, and what is told of those that do not answer."""

from pathlib import Path

import pytest

from pegaflow.cli.top.readings import readings
from pegaflow.errors import Unreachable
from pegaflow.observe.sample import Sample
from pegaflow.observe.source import Source
from pegaflow.observe.thresholds import DEFAULTS
from tests.cli.command_line import CommandLine
from tests.observe.clock import Clock
from tests.observe.samples import sample


class _SlowOnce(Source):
    """A daemon whose second answer takes ``seconds``."""

    host = "here"

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.read_at: list[float] = []
        self._clock = clock
        self._seconds = seconds

    def read(self) -> Sample:
        self.read_at.append(self._clock())
        self._clock.at += self._seconds if len(self.read_at) == 2 else 0.25
        return sample()

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("seconds", "third"), [(0.5, 2.0), (7.5, 8.5), (7.0, 8.0)])
def test_an_answer_that_took_long_is_not_made_up_for(
    monkeypatch: pytest.MonkeyPatch, seconds: float, third: float
) -> None:
    clock = Clock(0.0)

    def sleep(wanted: float) -> None:
        clock.at += wanted

    monkeypatch.setattr("pegaflow.cli.top.readings.time.monotonic", clock)
    monkeypatch.setattr("pegaflow.cli.top.readings.time.sleep", sleep)
    source = _SlowOnce(clock, seconds)
    list(readings([source], DEFAULTS, 1.0, 4))
    assert source.read_at == [0.0, 1.0, third, third + 1.0]


def test_a_headless_recorder_tells_once_that_a_daemon_is_silent_and_that_it_is_back(
    pegaflow: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Coming(Source):
        host = "here"
        answers = iter([False, False, True, True, False])

        def read(self) -> Sample:
            if not next(self.answers):
                raise Unreachable("nobody is there")
            return sample()

        def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr("pegaflow.cli.top.command.demo_sources", lambda: [Coming()])
    args = ("--demo", "--headless", "--record", str(tmp_path / "r"), "-n", "5", "-i", "100ms")
    said = pegaflow("top", *args).err.splitlines()
    silent = "pegaflow: here: nobody is there"
    assert said == [silent, "pegaflow: here answers again", silent]
