"""What the demo of the ssd tier says of what it measured."""

import dataclasses
from typing import Any, Final

import pytest

from tests.demo.ssd_figures import SsdFigures, SsdRow
from tests.demo.test_figures import COLD, PROMPTS, loaded

GOOD: Final = SsdFigures(
    rows=[SsdRow(PROMPTS[0], COLD, loaded(96)), SsdRow(PROMPTS[1], COLD, loaded(64))],
    errors=(),
    warmed_blocks=3,
    memory_hit_blocks=3,
    ssd_hit_blocks=2,
    blocks_on_ssd=5,
    bytes_on_ssd=5000,
    pool_bytes=4000,
    wrong_pages=0,
    seconds=1.0,
)


def test_nothing_is_wrong_when_all_is_as_it_must_be() -> None:
    assert list(GOOD.problems()) == []
    document = GOOD.document()
    assert document["same_tokens"] == document["prompts"] == 2
    assert document["ssd_hit_blocks"] == 2
    assert document["wrong_pages"] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"errors": ("a prompt failed",)}, "a prompt failed"),
        ({"warmed_blocks": 0}, "loaded nothing"),
        ({"ssd_hit_blocks": 0}, "no request found a block on disk"),
        ({"wrong_pages": 1}, "1 blocks were not what was saved"),
        ({"bytes_on_ssd": 4000}, "do not fill a pool"),
    ],
)
def test_what_differs_is_a_problem(change: dict[str, Any], words: str) -> None:
    (problem,) = dataclasses.replace(GOOD, **change).problems()
    assert words in problem


def test_another_token_and_a_block_computed_again_are_problems() -> None:
    first = SsdRow(PROMPTS[0], COLD, dataclasses.replace(loaded(64), tokens=(5, 6, 8)))
    figures = dataclasses.replace(GOOD, rows=[first, GOOD.rows[1]])
    assert list(figures.problems()) == [
        "prompt 1: the engine that was started anew gave other tokens",
        "128 tokens from caches instead of 160",
    ]
    assert figures.document()["same_tokens"] == 1
