"""Requests that lose their blocks and come back: right tokens, and nothing stays held."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.vllm_install import BLOCK_TOKENS, VllmInstall

pytestmark = pytest.mark.engine

LONGEST = 512
POOL_BLOCKS = LONGEST // BLOCK_TOKENS + 2
"""Room for one longest request, and for three only as long as they are short."""


@pytest.fixture(scope="module")
def small_engine(
    install: VllmInstall,
    model: Path,
    daemon: DaemonProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SteppedEngine]:
    log = tmp_path_factory.mktemp("small_engine") / "engine.log"
    with SteppedEngine(
        install,
        model,
        daemon.socket,
        log,
        max_model_len=LONGEST,
        num_gpu_blocks_override=POOL_BLOCKS,
    ) as engine:
        yield engine


def test_preempted_requests_resume_with_the_tokens_of_undisturbed_ones(
    small_engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    generate = 160
    prompts = [random_prompt(150) for _ in range(3)]

    requests = [small_engine.add(prompt, generate) for prompt in prompts]
    answers = small_engine.drain()

    assert small_engine.preemptions() > 0, "the pool was large enough for all"
    assert_nothing_left(small_engine, daemon)
    for prompt, request in zip(prompts, requests, strict=True):
        small_engine.reset()
        answers[request].assert_same(small_engine.generate(prompt, generate))


def test_an_abort_of_a_preempted_request_leaves_nothing(
    small_engine: SteppedEngine, daemon: DaemonProcess
) -> None:
    prompts = [random_prompt(150) for _ in range(3)]
    requests = [small_engine.add(prompt, 160) for prompt in prompts]
    while "PREEMPTED" not in (states := small_engine.requests()).values():
        small_engine.step()
    (preempted,) = (name for name, state in states.items() if state == "PREEMPTED")
    aborted = next(request for request in requests if preempted.startswith(request))

    small_engine.abort(aborted)
    answers = small_engine.drain()

    assert set(answers) == set(requests) - {aborted}
    assert_nothing_left(small_engine, daemon)
