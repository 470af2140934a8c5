"""The parts of a run that find what must not be."""

import threading
from pathlib import Path

import pytest

from tests.chaos.engine_faults import Killing
from tests.chaos.leaks import left_files
from tests.chaos.replay import Replay
from tests.chaos.resources import Growth
from tests.chaos.threads import run_together

PATIENCE_S = 30.0


def test_tasks_are_told_when_it_is_over() -> None:
    ended = []

    def task(over: threading.Event) -> None:
        assert over.wait(PATIENCE_S)
        ended.append(over)

    looks = iter([False, False, True])
    run_together([task, task], lambda: next(looks), PATIENCE_S)
    assert len(ended) == 2


def test_a_task_that_fails_ends_the_others_and_the_run() -> None:
    told = threading.Event()

    def fails(over: threading.Event) -> None:
        raise ValueError("a task failed")

    def goes_on(over: threading.Event) -> None:
        assert over.wait(PATIENCE_S)
        told.set()

    with pytest.raises(ValueError, match="a task failed"):
        run_together([goes_on, fails], lambda: False, PATIENCE_S)
    assert told.is_set()


def test_one_engine_is_killed_at_a_time_and_none_after_the_end() -> None:
    killing = Killing(seed=1, places=2)
    assert killing.begin()
    assert not killing.begin()
    killing.over()
    assert killing.begin()
    killing.over()
    killing.end.set()
    assert not killing.begin()


def test_more_than_comes_and_goes_is_a_leak() -> None:
    assert Growth("files", 3, allowed=2).is_leak()
    assert not Growth("files", 2, allowed=2).is_leak()
    assert not Growth("files", None, allowed=2).is_leak()


def test_each_file_that_is_left_is_named(tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    for path in (log, tmp_path / "daemon.sock"):
        path.touch()
    assert list(left_files(tmp_path, besides=log)) == [f"daemon.sock is left in {tmp_path}"]


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.98), (0.0, 0.0)])
def test_fewer_hits_after_the_kill_or_none_at_all_are_a_problem(
    before: float, after: float
) -> None:
    assert Replay(before, after, 0.1, 0.1).problem() is not None
    assert Replay(1.0, 0.995, 0.1, 0.1).problem() is None
