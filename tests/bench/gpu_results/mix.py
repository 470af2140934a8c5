"""Real vLLM with a GPU cache too small for the prompts, so that each repeat is an external hit."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

from pegaflow.bench.figures import percentile
from pegaflow.bench.vllm_engine import Job, Prompt, random_prompt
from pegaflow.bench.vllm_site import ModelPlan
from pegaflow.errors import PegaflowError
from tests.bench.gpu_results.one_engine import OFFLOAD, Running
from tests.bench.gpu_results.result import Result

TOKENS: Final = 10_000
_PROMPTS: Final = 12
_RATE: Final = 4.0
_DECODING: Final = 16
_DECODE_TOKENS: Final = 300
_PASSES: Final = 3

ARGUMENTS: Final[Mapping[str, Any]] = {
    "enforce_eager": False,
    "max_model_len": TOKENS + 1024,
    "max_num_batched_tokens": 8192,
    "max_num_seqs": 48,
    "kv_cache_memory_bytes": 8 << 30,
    "compilation_config": {
        "mode": 0,
        "cudagraph_mode": "FULL_DECODE_ONLY",
        "cudagraph_capture_sizes": [1, 2, 4, 8, 16, 24],
    },
}


@dataclass(frozen=True)
class Mix:
    """One engine's figures, in ms."""

    warm_mean: float
    warm_p99: float
    gap_p99: float
    """Of the decoding sequences while warm prompts arrive."""
    beside_mean: float
    """TTFT of those prompts."""


class Mixes:
    """Several engines, one after another; vLLM's own offload is to be the first."""

    def __init__(self) -> None:
        self._theirs: Mix | None = None

    def rows(self, kind: str, at: Running) -> Iterator[Result]:
        """One engine's."""
        mix = _measure(at)
        if kind == OFFLOAD:
            self._theirs = mix
        if self._theirs is None:
            raise PegaflowError(f"{mix} has nothing to be compared with: no {OFFLOAD}")
        yield from _judged(kind, mix, self._theirs)


def _judged(kind: str, mix: Mix, theirs: Mix) -> Iterator[Result]:
    is_ours = kind != OFFLOAD
    how = f"{_PROMPTS} prompts of {TOKENS:,} tokens at {_RATE:g}/s, {_PASSES} passes"
    against = f"; {OFFLOAD} {theirs.warm_mean} / {theirs.warm_p99} ms" if is_ours else ""
    for statistic, value, other in (
        ("mean", mix.warm_mean, theirs.warm_mean),
        ("p99", mix.warm_p99, theirs.warm_p99),
    ):
        target = other if is_ours else None
        what = f"mix, {kind}: warm TTFT {statistic}"
        yield Result(what, value, "ms", target, "most", how + against)
    how = f"{_DECODING} sequences decode while the warm prompts arrive, {_PASSES} passes"
    against = f"; {OFFLOAD} {theirs.gap_p99} and {theirs.beside_mean} ms" if is_ours else ""
    for what, value, most in (
        ("gap between tokens p99", mix.gap_p99, 8.0),
        ("TTFT mean of those prompts", mix.beside_mean, 60.0),
    ):
        target = most if is_ours else None
        yield Result(f"mix, {kind}: {what}", value, "ms", target, "most", how + against)


def _measure(at: Running) -> Mix:
    engine, prompts = at.engine, _prompts(at.plan, _PROMPTS, TOKENS)
    for tokens in (64, 512, TOKENS):
        engine.one_by_one(_prompts(at.plan, 1, tokens), 8)
    if at.daemon is not None:
        engine.wait_attached(at.daemon)
    engine.run(_arriving(prompts, 0.3))
    engine.settle(at.daemon)
    time.sleep(1.0)
    warm = [
        result.ttft_ms for _ in range(_PASSES) for result in engine.run(_arriving(prompts, 0.3))
    ]
    decoding = [Job(prompt, _DECODE_TOKENS) for prompt in _prompts(at.plan, _DECODING, 256)]
    engine.run(decoding)
    gaps: list[float] = []
    beside: list[float] = []
    for _ in range(_PASSES):
        both = engine.run([*decoding, *_arriving(prompts, 0.6)])
        gaps += [gap for result in both[:_DECODING] for gap in result.gaps_ms]
        beside += [result.ttft_ms for result in both[_DECODING:]]
    return Mix(
        warm_mean=round(mean(warm), 2),
        warm_p99=percentile(warm, 99, 2),
        gap_p99=percentile(gaps, 99, 2),
        beside_mean=round(mean(beside), 2),
    )


def _arriving(prompts: Sequence[Prompt], first_s: float) -> list[Job]:
    return [Job(prompt, 1, first_s + number / _RATE) for number, prompt in enumerate(prompts)]


def _prompts(plan: ModelPlan, count: int, tokens: int) -> list[Prompt]:
    source = random.SystemRandom()
    return [random_prompt(source, tokens, plan.vocabulary) for _ in range(count)]
