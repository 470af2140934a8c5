"""Prompts one at a time, and how long engines take to start: real vLLM, 8B shape, dummy weights."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.daemon import BenchDaemon
from pegaflow.bench.figures import Say, median
from pegaflow.bench.ttft import warm_up
from pegaflow.bench.vllm_engine import Prompt, VllmEngine, ours, running_engine
from pegaflow.bench.vllm_site import ModelPlan, VllmSite
from pegaflow.errors import PegaflowError
from tests.bench.gpu_results.result import Result

ACROSS_LAYERS: Final[Mapping[str, str]] = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
"""The model runner that gives a connector blocks of one run where it asks for that."""

OFFLOAD: Final = "vLLM's own offload"
ACROSS: Final = "blocks across layers"
DEFAULT: Final = "default layout"
PROMPTS: Final = 8

_MOST_MS: Final = {DEFAULT: 61.0, ACROSS: 57.0}
_PASSES: Final = 4
_GENERATE: Final = 16


@dataclass
class OneByOne:
    """Passes of the same prompts with several engines; what is compared between them."""

    plan: ModelPlan
    prompts: Sequence[Prompt]
    warm_ms: dict[str, float] = field(default_factory=dict)

    def offload(self, engine: VllmEngine) -> Iterator[Result]:
        """VLLM's own: the figure that ours are compared with."""
        self._passes(OFFLOAD, engine, None)
        yield self._warm(OFFLOAD, None)

    def pegaflow(self, kind: str, engine: VllmEngine, daemon: BenchDaemon) -> Iterator[Result]:
        """Ours with one layout."""
        same = self._passes(kind, engine, daemon)
        yield self._warm(kind, _MOST_MS[kind])
        answers = _PASSES * len(self.prompts)
        what = f"warm TTFT, {kind}: same greedy tokens"
        yield Result(what, same, f"of {answers}", answers, "least")
        mine, theirs = self.warm_ms[kind], self.warm_ms.get(OFFLOAD)
        if theirs is None:
            raise PegaflowError(f"{OFFLOAD} was not measured, and {kind} is compared with it")
        how = f"{mine} ms; {OFFLOAD} {theirs} ms"
        what = f"warm TTFT, {kind}: over {OFFLOAD}"
        yield Result(what, round(mine / theirs, 3), "x", 0.999, "most", how)

    def _warm(self, kind: str, most: float | None) -> Result:
        how = (
            f"{len(self.prompts)} prompts of {self.plan.tokens:,} tokens, one at a time, "
            f"{_PASSES} passes, eager; p50"
        )
        return Result(f"warm TTFT, {kind}", self.warm_ms[kind], "ms", most, "most", how)

    def _passes(self, kind: str, engine: VllmEngine, daemon: BenchDaemon | None) -> int:
        """A cold and some warm passes; how many warm answers are as the cold ones."""
        engine.wait_started()
        warm_up(engine, self.plan)
        if daemon is not None:
            engine.wait_attached(daemon)
        cold = engine.one_by_one(self.prompts, _GENERATE)
        warm = []
        for _ in range(_PASSES):
            engine.settle(daemon)
            engine.reset()
            warm += engine.one_by_one(self.prompts, _GENERATE)
        self.warm_ms[kind] = median([answer.ttft_ms for answer in warm], 2)
        return sum(
            one.tokens == other.tokens for one, other in zip(cold * _PASSES, warm, strict=True)
        )


def alone_and_ours(
    site: VllmSite,
    one_by_one: OneByOne,
    arguments: Mapping[str, Any],
    directory: Path,
    daemon: BenchDaemon,
    say: Say,
) -> Iterator[Result]:
    """Starts of engines with the machine to themselves, and the passes of the one that is ours."""
    log = directory / "engine.log"
    say(f"starting vLLM {site.version}: no connector")
    with running_engine(site, arguments, log) as engine:
        alone = round(engine.start_s, 2)
    say(f"starting vLLM {site.version}: {DEFAULT}")
    with running_engine(site, arguments, log, ours(daemon.socket)) as engine:
        mine = round(engine.start_s, 2)
        yield from one_by_one.pegaflow(DEFAULT, engine, daemon)
    how = "from the start of its process until it serves; 8B shape, dummy weights, eager"
    yield Result("engine start without a connector", alone, "s", how=how)
    how = f"{mine} s; the daemon's pool has {daemon.status().pool.bytes >> 30} GiB"
    more = round(mine - alone, 2)
    yield Result("engine start with ours, above that", more, "s", 2.0, "most", how)
