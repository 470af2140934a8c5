"""The demo fails when anything differs from what it is to show."""

import dataclasses

import pytest

from tests.demo.figures import Figures, Row
from tests.engine.engine import Completion
from tests.engine.hits import Hits
from tests.engine.prompts import random_prompt

PROMPTS = [random_prompt(100), random_prompt(64)]
COLD = Completion(tokens=(5, 6, 7), gaps=(1.0, 1.0, 1.0), first_token_s=0.1, hits=Hits(0, 0))


def loaded(tokens: int) -> Completion:
    return dataclasses.replace(COLD, hits=Hits(local=0, external=tokens))


GOOD = Figures(
    rows=[
        Row(PROMPTS[0], COLD, loaded(96), loaded(96)),
        Row(PROMPTS[1], COLD, loaded(64), loaded(64)),
    ],
    errors=(),
    engine_kills=1,
    seconds=1.0,
)


def with_first(engine: str, completion: Completion | None) -> Figures:
    """The good figures but for the first prompt's answer by ``engine``."""
    answers = {"after_kill": loaded(96), "second": loaded(96)} | {engine: completion}
    return dataclasses.replace(GOOD, rows=[Row(PROMPTS[0], COLD, **answers), GOOD.rows[1]])


def test_nothing_is_wrong_when_all_is_as_it_must_be() -> None:
    assert list(GOOD.problems()) == []
    document = GOOD.document()
    assert document["same_tokens"] == document["prompts"] == 2
    assert document["errors"] == 0
    assert document["external_tokens"] == document["full_block_tokens"] == 96 + 64


@pytest.mark.parametrize("engine", ["after_kill", "second"])
def test_another_token_is_a_problem(engine: str) -> None:
    other = dataclasses.replace(loaded(96), tokens=(5, 6, 8))
    (problem,) = with_first(engine, other).problems()
    assert problem.startswith("prompt 1") and problem.endswith("other tokens")


@pytest.mark.parametrize("engine", ["after_kill", "second"])
def test_a_block_that_was_computed_again_is_a_problem(engine: str) -> None:
    problems = list(with_first(engine, loaded(64)).problems())
    assert any("64 external tokens for the first prompt instead of 96" in text for text in problems)
    assert any("128 tokens from caches instead of 160" in text for text in problems)


def test_a_failed_request_is_a_problem() -> None:
    figures = dataclasses.replace(with_first("after_kill", None), errors=["it failed"])
    assert "it failed" in figures.problems()
    assert figures.document()["errors"] == 1
    assert figures.document()["same_tokens"] == 1
