"""Warm prompts one at a time: real vLLM, 8B shape, dummy weights, eager.

One engine after another, each with the machine to itself, as it would serve: eager steps wait for
the processor, and several idle engines on one GPU slow each other down. A virtual machine's
processor can be slower by half for a minute or for an engine's life, so each is started twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pegaflow.bench.figures import Say, median
from pegaflow.bench.ttft import make_prompts, warm_up
from pegaflow.bench.vllm_engine import Prompt
from pegaflow.bench.vllm_engine import Result as Answer
from tests.bench.gpu_results.one_engine import (
    ACROSS,
    DEFAULT,
    OFFLOAD,
    SMALL_CACHE,
    Running,
    running,
)
from tests.bench.gpu_results.result import Result, survived

_OFFLOAD_BYTES: Final = 12 << 30
_PROMPTS: Final = 8
_STARTS: Final = 2
_ROUNDS: Final = 3
_GENERATE: Final = 16
"""Tokens that are compared, in a round of their own."""
_MOST_MS: Final = {ACROSS: 57.0, DEFAULT: 61.0}


@dataclass(frozen=True)
class _Warm:
    """What one engine answered to prompts that it had been asked before."""

    tokens: int
    """Of a prompt."""
    ttft_ms: tuple[float, ...]
    in_gpu_cache_ms: float
    """The same prompts while vLLM's own cache has them: how fast the processor is just now."""
    same: int
    """Prompts whose greedy tokens are those of the cold answers."""

    @property
    def median_ms(self) -> float:
        """Of all warm answers."""
        return median(self.ttft_ms, 2)


def rows(say: Say) -> Iterator[Result]:
    """From the caches beside vLLM."""
    yield from survived("warm TTFT", _rows(say))


def _rows(say: Say) -> Iterator[Result]:
    found: dict[str, list[_Warm]] = {OFFLOAD: [], **{kind: [] for kind in _MOST_MS}}
    for number in range(_STARTS):
        for kind, starts in found.items():
            starts.append(_measured(kind, say))
            say(f"{kind}: start {number + 1} of {_STARTS}: {starts[-1].median_ms} ms")
    best = {kind: min(starts, key=lambda one: one.median_ms) for kind, starts in found.items()}
    theirs = best[OFFLOAD].median_ms
    yield Result(f"warm TTFT, {OFFLOAD}", theirs, "ms", how=_how(found[OFFLOAD]))
    for kind, most in _MOST_MS.items():
        mine = best[kind].median_ms
        yield Result(f"warm TTFT, {kind}", mine, "ms", most, "most", _how(found[kind]))
        against = f"{mine} ms; {OFFLOAD} {theirs} ms"
        what = f"warm TTFT, {kind}: over {OFFLOAD}"
        yield Result(what, round(mine / theirs, 3), "x", 0.999, "most", against)
        same = min(start.same for start in found[kind])
        what = f"warm TTFT, {kind}: same greedy tokens"
        how = f"{_GENERATE} tokens each, the worse of {_STARTS} starts"
        yield Result(what, same, f"of {_PROMPTS}", _PROMPTS, "least", how)


def _how(starts: Sequence[_Warm]) -> str:
    each = " and ".join(f"{one.median_ms} ({one.in_gpu_cache_ms})" for one in starts)
    return (
        f"{_PROMPTS} prompts of {starts[0].tokens:,} tokens, one at a time, {_ROUNDS} rounds, "
        f"eager, p50; the better of {_STARTS} starts: {each} ms (in brackets: all in vLLM's GPU "
        "cache)"
    )


def _measured(kind: str, say: Say) -> _Warm:
    with running(kind, SMALL_CACHE, _OFFLOAD_BYTES, say) as at:
        engine, prompts = at.engine, make_prompts(at.plan, _PROMPTS)
        warm_up(engine, at.plan)
        if at.daemon is not None:
            engine.wait_attached(at.daemon)
        cold = engine.one_by_one(prompts, _GENERATE)
        again = _again(at, prompts, _GENERATE)
        same = sum(one.tokens == two.tokens for one, two in zip(cold, again, strict=True))
        warm = [answer for _ in range(_ROUNDS) for answer in _again(at, prompts, 1)]
        twice = [engine.one_by_one([prompt] * 2, 1)[1] for prompt in prompts]
        return _Warm(
            at.plan.tokens,
            tuple(answer.ttft_ms for answer in warm),
            median([answer.ttft_ms for answer in twice], 2),
            same,
        )


def _again(at: Running, prompts: Sequence[Prompt], generate: int) -> list[Answer]:
    """All prompts, of which the engine has none in its own cache."""
    at.engine.settle(at.daemon)
    at.engine.reset()
    return at.engine.one_by_one(prompts, generate)
