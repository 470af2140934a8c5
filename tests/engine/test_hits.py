"""What the external cache gives back, by vLLM's own counters, and that it is right."""

import pytest

from tests.engine.conftest import STEP_TOKENS
from tests.engine.daemon import DaemonProcess
from tests.engine.hits import Hits
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.prompts import full_block_tokens, random_prompt
from tests.engine.stepped_engine import Answer, SteppedEngine
from tests.engine.vllm_install import BLOCK_TOKENS

pytestmark = pytest.mark.engine


def measured(
    engine: SteppedEngine, prompt: tuple[int, ...], salt: str | None = None
) -> tuple[Answer, Hits]:
    before = engine.hits()
    answer = engine.generate(prompt, salt=salt)
    return answer, engine.hits().since(before).of_one_prompt(len(prompt))


def test_a_prompt_is_computed_once_and_loaded_after_vllm_forgot_it(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    prompt = random_prompt(100)
    blocks = daemon.blocks()

    cold, hits = measured(engine, prompt)
    assert hits == Hits(local=0, external=0)
    assert daemon.blocks() == blocks + 3

    again, hits = measured(engine, prompt)
    assert hits == Hits(local=96, external=0)
    cold.assert_same(again)

    engine.reset()
    warm, hits = measured(engine, prompt)
    assert hits == Hits(local=0, external=96)
    cold.assert_same(warm)
    assert daemon.blocks() == blocks + 3, "what came from the cache is not saved again"
    assert_nothing_left(engine, daemon)


def test_a_shared_prefix_is_loaded_and_the_rest_computed(engine: SteppedEngine) -> None:
    prefix = random_prompt(64)
    engine.generate(prefix + random_prompt(36))
    engine.reset()
    prompt = prefix + random_prompt(36)

    mixed, hits = measured(engine, prompt)

    assert hits == Hits(local=0, external=64)
    engine.reset()
    loaded, hits = measured(engine, prompt)
    assert hits.external == 96
    mixed.assert_same(loaded)


@pytest.mark.parametrize("blocks", [1, 2, 3, 8])
def test_a_prompt_of_whole_blocks_is_loaded_whole(engine: SteppedEngine, blocks: int) -> None:
    prompt = random_prompt(blocks * BLOCK_TOKENS)
    cold = engine.generate(prompt)
    engine.reset()

    warm, hits = measured(engine, prompt)

    assert hits == Hits(local=0, external=len(prompt))
    cold.assert_same(warm)


def test_local_and_external_blocks_add_up(engine: SteppedEngine, daemon: DaemonProcess) -> None:
    prefix = random_prompt(64)
    longer = prefix + random_prompt(32)
    cold = engine.generate(longer)
    engine.reset()
    engine.generate(prefix + random_prompt(5))

    warm, hits = measured(engine, longer)

    assert hits == Hits(local=64, external=32)
    cold.assert_same(warm)
    assert_nothing_left(engine, daemon)


def test_a_prompt_shorter_than_a_block_leaves_nothing(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    blocks = daemon.blocks()
    _, hits = measured(engine, random_prompt(BLOCK_TOKENS - 20))
    assert hits == Hits(local=0, external=0)
    assert daemon.blocks() == blocks


def test_a_prefill_in_chunks_saves_and_loads_every_block(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    prompt = random_prompt(2 * STEP_TOKENS + 4 * BLOCK_TOKENS + 1)
    blocks = daemon.blocks()
    cold = engine.generate(prompt)
    assert daemon.blocks() == blocks + len(prompt) // BLOCK_TOKENS
    engine.reset()

    warm, hits = measured(engine, prompt)

    assert hits.external == full_block_tokens(prompt)
    cold.assert_same(warm)


def test_blocks_of_generated_tokens_serve_the_next_turn(engine: SteppedEngine) -> None:
    prompt = random_prompt(60)
    answer = engine.generate(prompt, generate=80)
    conversation = prompt + answer.tokens
    engine.reset()

    _, hits = measured(engine, conversation + random_prompt(20))

    # The last token of an answer is never computed, so its block is full one token later.
    assert hits.external == full_block_tokens(conversation[:-1])


def test_a_cache_salt_keeps_tenants_apart(engine: SteppedEngine) -> None:
    prompt = random_prompt(100)
    engine.generate(prompt, salt="one tenant")
    engine.reset()

    _, hits = measured(engine, prompt, salt="another tenant")
    assert hits == Hits(local=0, external=0)

    engine.reset()
    _, hits = measured(engine, prompt, salt="one tenant")
    assert hits.external == 96


def test_many_requests_at_once_load_what_each_has_cached(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    prefix = random_prompt(96)
    prompts = [prefix + random_prompt(40 + 16 * number) for number in range(8)]
    cold = [engine.generate(prompt) for prompt in prompts]
    engine.reset()

    requests = [engine.add(prompt) for prompt in prompts]
    answers = engine.drain()

    for before, request in zip(cold, requests, strict=True):
        before.assert_same(answers[request])
        assert answers[request].cached >= len(prefix)
    assert_nothing_left(engine, daemon)


def test_the_same_prompt_twice_at_once_is_saved_once(
    engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    prompt = random_prompt(200)
    blocks = daemon.blocks()

    first, second = engine.add(prompt), engine.add(prompt)
    answers = engine.drain()

    answers[first].assert_same(answers[second])
    assert daemon.blocks() == blocks + len(prompt) // BLOCK_TOKENS
    assert_nothing_left(engine, daemon)
