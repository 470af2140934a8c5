"""Warm prompts one at a time: real vLLM, 8B shape, dummy weights, eager.

All engines are started before the first prompt, and asked in turn, round by round: a
machine that is slower for a while is so for each of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pegaflow.bench.daemon import BenchDaemon
from pegaflow.bench.figures import Say, median
from pegaflow.bench.ttft import make_prompts, warm_up
from pegaflow.bench.vllm_engine import Prompt, VllmEngine
from pegaflow.bench.vllm_engine import Result as Answer
from pegaflow.bench.vllm_site import ModelPlan
from tests.bench.gpu_results.result import Result, survived
from tests.bench.gpu_results.side_by_side import (
    ACROSS,
    ALONE,
    DEFAULT,
    OFFLOAD,
    SMALL_CACHE,
    started,
)
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
    kinds = (ALONE, OFFLOAD, ACROSS, DEFAULT)
    with started(kinds, SMALL_CACHE, _OFFLOAD_BYTES, say) as compared:
        asked = {}
        for kind, engine in compared.engines.items():
            say(f"cold prompts: {kind}")
            asked[kind] = _Asked(engine, compared.daemon_of(kind), compared.plan)
        yield from _measured(asked, compared.plan, load_gb_s, say)


class _Asked:
    """An engine that is asked the same prompts again and again."""

    def __init__(self, engine: VllmEngine, daemon: BenchDaemon | None, plan: ModelPlan) -> None:
        self._engine = engine
        self._daemon = daemon
        self._prompts: Sequence[Prompt] = make_prompts(plan, _PROMPTS)
        warm_up(engine, plan)
        if daemon is not None:
            engine.wait_attached(daemon)
        self._cold = engine.one_by_one(self._prompts, _GENERATE)
        self._warm: list[Answer] = []

    def again(self) -> None:
        """All prompts, of which the engine has none in its own cache."""
        self._engine.settle(self._daemon)
        self._engine.reset()
        self._warm += self._engine.one_by_one(self._prompts, _GENERATE)

    def twice(self) -> None:
        """Each prompt twice: the second time the engine's own cache has it."""
        for prompt in self._prompts:
            self._warm.append(self._engine.one_by_one([prompt] * 2, _GENERATE)[1])

    @property
    def median_ms(self) -> float:
        """Of all warm answers."""
        return median([answer.ttft_ms for answer in self._warm], 2)

    @property
    def same(self) -> int:
        """Warm answers whose greedy tokens are the cold ones."""
        cold = list(self._cold) * _ROUNDS
        return sum(one.tokens == two.tokens for one, two in zip(cold, self._warm, strict=True))


def _measured(
    asked: Mapping[str, _Asked], plan: ModelPlan, load_gb_s: float, say: Say
) -> Iterator[Result]:
    for number in range(_ROUNDS):
        say(f"round {number + 1} of {_ROUNDS}")
        for kind, engine in asked.items():
            if kind == ALONE:
                engine.twice()
            else:
                engine.again()
    how = (
        f"{_PROMPTS} prompts of {plan.tokens:,} tokens, one at a time, "
        f"{_ROUNDS} rounds of all engines in turn, eager; p50"
    )
    at_once = asked[ALONE].median_ms
    yield Result("warm TTFT, all in vLLM's own GPU cache", at_once, "ms", how=how)
    floor = round(at_once + plan.prompt_bytes / load_gb_s / 1e6, 2)
    of = f"that, and {plan.prompt_bytes / 1e9:.2f} GB at {load_gb_s} GB/s, not overlapped"
    yield Result("warm TTFT, floor of a load", floor, "ms", how=of)
    theirs = asked[OFFLOAD].median_ms
    yield Result(f"warm TTFT, {OFFLOAD}", theirs, "ms", how=how)
    for kind, most in _MOST_MS.items():
        yield from _ours(kind, asked[kind], most, floor, theirs, how)


def _ours(
    kind: str, asked: _Asked, most: float, floor: float, theirs: float, how: str
) -> Iterator[Result]:
    mine, answers = asked.median_ms, _PROMPTS * _ROUNDS
    yield Result(f"warm TTFT, {kind}", mine, "ms", most, "most", how)
    above = f"{mine} ms; the floor {floor} ms"
    yield Result(f"warm TTFT, {kind}: over the floor", round(mine / floor, 3), "x", how=above)
    against = f"{mine} ms; {OFFLOAD} {theirs} ms"
    what = f"warm TTFT, {kind}: over {OFFLOAD}"
    yield Result(what, round(mine / theirs, 3), "x", 0.999, "most", against)
    same = f"warm TTFT, {kind}: same greedy tokens"
    yield Result(same, asked.same, f"of {answers}", answers, "least")
