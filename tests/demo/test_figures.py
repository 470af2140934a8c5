"""The demo fails when anything differs from what it is to show."""

import dataclasses

import pytest

from tests.demo.figures import WARM, DaemonKill, Figures, Row
from tests.engine.engine import Completion
from tests.engine.hits import Hits
from tests.engine.prompts import random_prompt

PROMPTS = [random_prompt(100), random_prompt(64)]
COLD = Completion(tokens=(5, 6, 7), gaps=(1.0, 1.0, 1.0), first_token_s=0.1, hits=Hits(0, 0))


def loaded(tokens: int) -> Completion:
    return dataclasses.replace(COLD, hits=Hits(local=0, external=tokens))


KILL = DaemonKill(blocks_before=5, blocks_after=5, first_answer_s=0.5, attached_s=0.2)
GOOD = Figures(
    rows=[
        Row(PROMPTS[0], COLD, dict.fromkeys(WARM, loaded(96))),
        Row(PROMPTS[1], COLD, dict.fromkeys(WARM, loaded(64))),
    ],
    daemon_kill=KILL,
    asked={"requested": 12, "memory": 10, "ssd": 0, "remote": 0, "miss": 2},
    errors=(),
    engine_kills=1,
    seconds=1.0,
)


def with_first(who: str, answer: Completion | None) -> Figures:
    """The good figures but for the first prompt's answer by ``who``."""
    first = GOOD.rows[0]
    rows = [dataclasses.replace(first, warm={**first.warm, who: answer}), GOOD.rows[1]]
    return dataclasses.replace(GOOD, rows=rows)


def test_nothing_is_wrong_when_all_is_as_it_must_be() -> None:
    assert list(GOOD.problems()) == []
    document = GOOD.document()
    assert document["same_tokens"] == document["prompts"] == 2
    assert document["errors"] == 0
    assert document["external_tokens"] == document["full_block_tokens"] == 96 + 64
    assert document["daemon_kills"] == 1
    assert document["after_daemon_kill"]["external_tokens"] == 96 + 64


@pytest.mark.parametrize("who", WARM)
def test_another_token_is_a_problem(who: str) -> None:
    other = dataclasses.replace(loaded(96), tokens=(5, 6, 8))
    (problem,) = with_first(who, other).problems()
    assert problem.startswith("prompt 1") and problem.endswith("other tokens")


@pytest.mark.parametrize("who", WARM)
def test_a_block_that_was_computed_again_is_a_problem(who: str) -> None:
    problems = list(with_first(who, loaded(64)).problems())
    assert any("64 external tokens for the first prompt instead of 96" in text for text in problems)
    assert any("128 tokens from caches instead of 160" in text for text in problems)


def test_a_failed_request_is_a_problem() -> None:
    figures = dataclasses.replace(with_first("after_kill", None), errors=["it failed"])
    assert "it failed" in figures.problems()
    assert figures.document()["errors"] == 1
    assert figures.document()["same_tokens"] == 1


def test_a_block_that_the_killed_daemon_s_successor_lacks_is_a_problem() -> None:
    kill = dataclasses.replace(KILL, blocks_after=4)
    (problem,) = dataclasses.replace(GOOD, daemon_kill=kill).problems()
    assert problem == "the daemon has 4 blocks after its kill instead of 5"


@pytest.mark.parametrize("miss", [1, 3])
def test_places_that_are_not_what_was_asked_for_are_a_problem(miss: int) -> None:
    asked = {**GOOD.asked, "miss": miss}
    (problem,) = dataclasses.replace(GOOD, asked=asked).problems()
    assert problem == f"pegaflow top: places have {10 + miss} blocks of 12 asked for"
