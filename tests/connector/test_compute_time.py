"""What a token takes to compute, as the scheduler side sees it."""

import random

from hypothesis import given
from hypothesis import strategies as st

from pegaflow.connector.scheduler.compute_time import ComputeTime


class Steps:
    """An engine that plans steps at times of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.time = ComputeTime(lambda: self.now)

    def run(self, tokens: int, seconds: float) -> float | None:
        """A step of so many tokens that takes so long."""
        self.time.planned(tokens)
        self.now += seconds
        return self.time.planned(0)


@given(st.floats(1e-6, 1e-2), st.lists(st.integers(256, 8192), min_size=9, max_size=30))
def test_steps_of_many_tokens_tell(seconds_per_token: float, sizes: list[int]) -> None:
    steps = Steps()
    said = [steps.run(tokens, tokens * seconds_per_token) for tokens in sizes]
    assert said[:8] == [None] * 8
    for seconds in said[8:]:
        assert seconds is not None
        assert abs(seconds - seconds_per_token) <= 1e-6 * seconds_per_token + 1e-9


def test_steps_of_few_tokens_tell_nothing() -> None:
    steps = Steps()
    assert [steps.run(random.randint(0, 255), 1.0) for _ in range(30)] == [None] * 30


def test_pauses_of_an_engine_with_nothing_to_do_do_not_count() -> None:
    steps = Steps()
    for pause in (0.0, 100.0, 0.0, 0.0, 1000.0, 0.0, 50.0, 0.0, 0.0):
        said = steps.run(1000, 1.0 + pause)
    assert said == 0.001
