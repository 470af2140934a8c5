"""What people hear of a replay while its daemon answers, does not answer, or is gone."""

import pytest

from pegaflow.errors import Unreachable
from pegaflow.replay import watch
from pegaflow.replay.report import Tally
from pegaflow.replay.watch import Watch


class Clock:
    """The time of a test."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class StandInEngine:
    """An engine that waits, or does not, as a test says."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.tally = Tally(requests=7, unanswered=3, wrong_blocks=1, failures=["broken"])
        self.waits_since: float | None = None
        self.attached = True

    def waited_s(self) -> float:
        return 0.0 if self.waits_since is None else self._clock.now - self.waits_since

    def is_attached(self) -> bool:
        return self.attached


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(watch, "time", clock)
    return clock


def look_for(seconds: int, clock: Clock, watched: Watch) -> None:
    for _ in range(10 * seconds):
        clock.now += 0.1
        watched.look()


def test_the_progress_is_said_every_few_seconds(clock: Clock) -> None:
    said = list[str]()
    watched = Watch([StandInEngine(clock), StandInEngine(clock)], 60, said.append)
    look_for(16, clock, watched)
    assert len(said) == 3
    assert said[0].startswith("14 requests in 5") and said[0].endswith(
        "2 failed, 6 unanswered, 2 blocks wrong"
    )


def test_silence_is_said_with_its_length_until_it_ends(clock: Clock) -> None:
    said, waiting = list[str](), StandInEngine(clock)
    watched = Watch([StandInEngine(clock), waiting], 60, said.append)
    waiting.waits_since = clock.now
    look_for(1, clock, watched)
    assert said == []
    look_for(11, clock, watched)
    assert [line.partition(";")[0][:30] for line in said] == ["the daemon has not answered fo"] * 2
    assert all(line.endswith("requests wait for it, 1 m at most") for line in said), said
    waiting.waits_since = None
    look_for(1, clock, watched)
    assert said[2:] == ["the daemon answers again, after 12 s"]


def test_a_daemon_that_is_gone_is_told_from_one_that_hangs(clock: Clock) -> None:
    said, engine = list[str](), StandInEngine(clock)
    engine.waits_since, engine.attached = clock.now, False
    watched = Watch([engine], 60, said.append)
    look_for(3, clock, watched)
    assert said[0].startswith("no daemon has answered for ")


def test_patience_ends(clock: Clock) -> None:
    engine = StandInEngine(clock)
    engine.waits_since = clock.now
    watched = Watch([engine], 10, lambda _: None)
    look_for(9, clock, watched)
    with pytest.raises(Unreachable, match=r"not answered for 10 s: the replay ends"):
        look_for(2, clock, watched)
