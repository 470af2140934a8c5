"""Warm prompts one at a time: real vLLM, 8B shape, dummy weights, eager.

One engine after another, each with the machine to itself, as it would serve: eager steps wait for
the processor, and several idle engines on one GPU slow each other down.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pegaflow.bench.figures import Say, median
from pegaflow.bench.ttft import make_prompts, warm_up
from pegaflow.bench.vllm_engine import Prompt, VllmEngine
from pegaflow.bench.vllm_engine import Result as Answer
from pegaflow.bench.vllm_site import ModelPlan
from tests.bench.gpu_results.one_engine import (
    ACROSS,
    ALONE,
    DEFAULT,
    OFFLOAD,
    SMALL_CACHE,
    Running,
    running,
)
from tests.bench.gpu_results.result import Result, survived
from tests.bench.gpu_results.transfer import link

_OFFLOAD_BYTES: Final = 12 << 30
_PROMPTS: Final = 8
_ROUNDS: Final = 5
_GENERATE: Final = 16
_MOST_MS: Final = {ACROSS: 57.0, DEFAULT: 61.0}


def rows(say: Say) -> Iterator[Result]:
    """From the caches beside vLLM, and what no cache can be faster than."""
    yield from survived("warm TTFT", _rows(say))


def _rows(say: Say) -> Iterator[Result]:
    load_gb_s = link().load
    warm = {kind: _measured(kind, say) for kind in (ALONE, OFFLOAD, ACROSS, DEFAULT)}
    bytes_loaded = warm[ALONE].plan.prompt_bytes
    how = (
        f"{_PROMPTS} prompts of {warm[ALONE].plan.tokens:,} tokens, one at a time, {_ROUNDS} "
        "rounds, eager, one engine after another; p50"
    )
    at_once = warm[ALONE].median_ms
    yield Result("warm TTFT, all in vLLM's own GPU cache", at_once, "ms", how=how)
    floor = round(at_once + bytes_loaded / load_gb_s / 1e6, 2)
    of = f"that, and {bytes_loaded / 1e9:.2f} GB at {load_gb_s} GB/s, not overlapped"
    yield Result("warm TTFT, floor of a load", floor, "ms", how=of)
    theirs = warm[OFFLOAD].median_ms
    yield Result(f"warm TTFT, {OFFLOAD}", theirs, "ms", how=how)
    for kind, most in _MOST_MS.items():
        yield from _ours(kind, warm[kind], most, floor, theirs, how)


@dataclass(frozen=True)
class _Warm:
    """What one engine answered to prompts that it had been asked before."""

    plan: ModelPlan
    cold: Sequence[Answer]
    warm: Sequence[Answer]

    @property
    def median_ms(self) -> float:
        """Of all warm answers."""
        return median([answer.ttft_ms for answer in self.warm], 2)

    @property
    def same(self) -> int:
        """Warm answers whose greedy tokens are the cold ones."""
        cold = list(self.cold) * _ROUNDS
        return sum(one.tokens == two.tokens for one, two in zip(cold, self.warm, strict=True))


def _measured(kind: str, say: Say) -> _Warm:
    with running(kind, SMALL_CACHE, _OFFLOAD_BYTES, say) as at:
        prompts = make_prompts(at.plan, _PROMPTS)
        warm_up(at.engine, at.plan)
        if at.daemon is not None:
            at.engine.wait_attached(at.daemon)
        cold = at.engine.one_by_one(prompts, _GENERATE)
        warm: list[Answer] = []
        for number in range(_ROUNDS):
            say(f"{kind}: round {number + 1} of {_ROUNDS}")
            warm += _twice(at.engine, prompts) if kind == ALONE else _again(at, prompts)
        return _Warm(at.plan, cold, warm)


def _again(at: Running, prompts: Sequence[Prompt]) -> list[Answer]:
    """All prompts, of which the engine has none in its own cache."""
    at.engine.settle(at.daemon)
    at.engine.reset()
    return at.engine.one_by_one(prompts, _GENERATE)


def _twice(engine: VllmEngine, prompts: Sequence[Prompt]) -> list[Answer]:
    """Each prompt twice: the second time the engine's own cache has it."""
    return [engine.one_by_one([prompt] * 2, _GENERATE)[1] for prompt in prompts]


def _ours(
    kind: str, mine: _Warm, most: float, floor: float, theirs: float, how: str
) -> Iterator[Result]:
    ms, answers = mine.median_ms, _PROMPTS * _ROUNDS
    yield Result(f"warm TTFT, {kind}", ms, "ms", most, "most", how)
    above = f"{ms} ms; the floor {floor} ms"
    yield Result(f"warm TTFT, {kind}: over the floor", round(ms / floor, 3), "x", how=above)
    against = f"{ms} ms; {OFFLOAD} {theirs} ms"
    what = f"warm TTFT, {kind}: over {OFFLOAD}"
    yield Result(what, round(ms / theirs, 3), "x", 0.999, "most", against)
    same = f"warm TTFT, {kind}: same greedy tokens"
    yield Result(same, mine.same, f"of {answers}", answers, "least")
