"""The scripted mix: prompts that share prefixes, long and short answers, clients that leave."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.engine.prompts import Prompt, random_prompt
from tests.engine.vllm_install import BLOCK_TOKENS, MAX_TOKENS

_FAMILIES: Final = 8
_MEMBERS: Final = 4
_PREFIX_BLOCKS: Final = (2, 8)
_OWN_TOKENS: Final = (5, 9 * BLOCK_TOKENS)
_GENERATE: Final = (4, 2 * BLOCK_TOKENS + 8)
_SECOND_TURNS: Final = 16
_NEXT_WORDS: Final = (10, 70)
_LEAVING: Final = 0.2
"""The share of requests whose client goes away."""


@dataclass(frozen=True)
class Question:
    """A prompt with the length of its answer."""

    prompt: Prompt
    generate: int


@dataclass(frozen=True)
class Order:
    """One request of the script."""

    question: int
    leave_after: int | None
    """The client goes away after so many tokens; 0: before the first one; None: it stays."""


def first_turns(seed: int) -> list[Question]:
    """Prompts in families that begin alike; every fourth is an exact multiple of the block."""
    source = random.Random(f"first turns of {seed}")
    questions = []
    for _ in range(_FAMILIES):
        prefix = random_prompt(source.randint(*_PREFIX_BLOCKS) * BLOCK_TOKENS, source)
        for member in range(_MEMBERS):
            own = source.randint(*_OWN_TOKENS)
            own = own if member else -(-own // BLOCK_TOKENS) * BLOCK_TOKENS
            questions.append(
                Question(prefix + random_prompt(own, source), source.randint(*_GENERATE))
            )
    return questions


def second_turns(
    seed: int, first: Sequence[Question], answers: Sequence[Sequence[int]]
) -> list[Question]:
    """Conversations that go on: a prompt, its answer, and new words."""
    source = random.Random(f"second turns of {seed}")
    questions = []
    for turn in source.sample(range(len(first)), _SECOND_TURNS):
        history = first[turn].prompt + tuple(answers[turn])
        prompt = history + random_prompt(source.randint(*_NEXT_WORDS), source)
        generate = source.randint(*_GENERATE)
        assert len(prompt) + generate <= MAX_TOKENS, "the model cannot answer so long a prompt"
        questions.append(Question(prompt, generate))
    return questions


def orders(seed: int, client: int, questions: Sequence[Question]) -> Iterator[Order]:
    """The requests of one client, without end; some prompts are asked more often than others."""
    source = random.Random(f"client {client} of {seed}")
    popular = random.Random(f"popularity of {seed}").sample(range(len(questions)), len(questions))
    while True:
        question = popular[int(len(popular) * source.random() ** 2)]
        leaves = source.random() < _LEAVING
        yield Order(question, source.randrange(questions[question].generate) if leaves else None)
