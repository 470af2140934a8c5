"""The judge calls wrong, failed and lost what is, and nothing else."""

import dataclasses

import pytest

from tests.chaos.judge import ANSWER_S, Ending, Judge
from tests.chaos.mix import Question
from tests.chaos.reference import Reference, noise_between
from tests.engine.stepped_engine import Answer

COLD = Answer("cold", tokens=(5, 6, 7, 8), gaps=(2.0, 1.0, 1e-5, 3.0), cached=0, reason="length")
REFERENCE = Reference([Question((9, 9), generate=4)], [COLD], noise=1e-5)
GOOD = Ending(0, COLD.tokens, 1.0, left=False, engine_was_killed=False, error=None)


def judged(**changes: object) -> Judge:
    judge = Judge(REFERENCE)
    judge.take(dataclasses.replace(GOOD, **changes))  # type: ignore[arg-type]
    return judge


def test_the_reference_s_answer_is_right_and_its_positions_count() -> None:
    judge = judged()
    assert (judge.wrong, judge.failed) == ([], [])
    assert judge.counts["answered"] == 1
    assert (judge.counts["positions"], judge.counts["positions_above_noise"]) == (4, 3)


@pytest.mark.parametrize("position", [0, 1, 3])
def test_another_token_is_wrong(position: int) -> None:
    tokens = [*COLD.tokens]
    tokens[position] = 99
    (sentence,) = judged(tokens=tokens).wrong
    assert f"token 99 instead of {COLD.tokens[position]} at position {position}" in sentence


def test_another_token_where_the_reference_was_undecided_ends_the_comparison() -> None:
    judge = judged(tokens=(5, 6, 99, 98))
    assert judge.wrong == []
    assert judge.counts["positions"] == 3


@pytest.mark.parametrize(
    "how",
    [
        {"left": True},
        {"error": "its engine was killed", "engine_was_killed": True},
        {"error": "it failed"},
    ],
)
def test_what_came_before_the_end_is_compared_too(how: dict[str, object]) -> None:
    assert len(judged(tokens=(99,), **how).wrong) == 1


def test_an_error_is_a_failure_unless_its_engine_was_killed() -> None:
    assert len(judged(error="reset by peer").failed) == 1
    lost = judged(error="reset by peer", engine_was_killed=True)
    assert (lost.failed, lost.counts["lost_with_their_engine"]) == ([], 1)


def test_an_answer_that_is_too_short_or_too_late_is_a_failure() -> None:
    assert len(judged(tokens=COLD.tokens[:3]).failed) == 1
    assert len(judged(seconds=ANSWER_S + 1).failed) == 1


def test_a_client_that_went_away_is_no_failure() -> None:
    judge = judged(tokens=COLD.tokens[:2], left=True)
    assert (judge.failed, judge.counts["left"]) == ([], 1)


def test_noise_is_how_far_gaps_move_and_at_least_what_changes_a_token() -> None:
    moved = dataclasses.replace(COLD, gaps=(2.0, 1.25, 1e-5, 3.0))
    assert noise_between(COLD, COLD) == 0.0
    assert noise_between(COLD, moved) == 0.25
    other = dataclasses.replace(COLD, tokens=(5, 99, 7, 8))
    assert noise_between(COLD, other) == 1.0
