"""Prompts of random token ids for the tiny model."""

import random
from collections.abc import Sequence

from pegaflow.bench.tiny_model import FIRST_WORD, VOCAB
from tests.engine.vllm_install import BLOCK_TOKENS

Prompt = tuple[int, ...]


def random_prompt(tokens: int, source: random.Random | None = None) -> Prompt:
    """A prompt that nobody has asked before, or the next one of ``source``."""
    source = source or random.SystemRandom()
    return tuple(source.randrange(FIRST_WORD, VOCAB) for _ in range(tokens))


def full_block_tokens(prompt: Sequence[int]) -> int:
    """Tokens of ``prompt`` that lie in full blocks: what a cache can hold of it."""
    return len(prompt) // BLOCK_TOKENS * BLOCK_TOKENS


def distinct_blocks(prompts: Sequence[Sequence[int]]) -> int:
    """How many different full blocks the prompts have, each with all that comes before it."""
    return len(
        {
            tuple(prompt[:end])
            for prompt in prompts
            for end in range(BLOCK_TOKENS, len(prompt) + 1, BLOCK_TOKENS)
        }
    )
