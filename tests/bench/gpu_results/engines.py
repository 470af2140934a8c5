"""Real vLLM, 8B shape with dummy weights: first tokens one at a time, and starts of engines."""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.daemon import BenchDaemon, running_daemon
from pegaflow.bench.figures import Say, median
from pegaflow.bench.ttft import make_prompts, warm_up
from pegaflow.bench.vllm_engine import (
    Prompt,
    VllmEngine,
    ours,
    running_engine,
    vllm_offload,
)
from pegaflow.bench.vllm_site import ModelPlan, VllmSite, plan_model
from pegaflow.errors import PegaflowError
from tests.bench.gpu_results.result import Result, survived

ACROSS_LAYERS: Final[Mapping[str, str]] = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
"""The model runner that gives a connector blocks of one run where it asks for that."""

POOL_BYTES: Final = 24 << 30
OFFLOAD: Final = "vLLM's own offload"

_PROMPTS: Final = 8
_PASSES: Final = 2
_GENERATE: Final = 16
_OFFLOAD_BYTES: Final = 12 << 30
_RESERVED_BYTES: Final = 24 << 30
_LEAST_LARGE_BYTES: Final = 64 << 30
"""A machine whose memory grows as it is used says at first that it has less."""

_ACROSS: Final = "blocks across layers"
_DEFAULT: Final = "default layout"
_KINDS: Final[Mapping[str, tuple[float, Mapping[str, str]]]] = {
    _DEFAULT: (61.0, {}),
    _ACROSS: (57.0, ACROSS_LAYERS),
}
"""Our engines: the most that their warm TTFT may be in ms, and their environment."""


def rows(say: Say) -> Iterator[Result]:
    """All of them."""
    site = VllmSite.of(sys.executable)
    with tempfile.TemporaryDirectory(prefix="pegaflow-results-") as name:
        directory = Path(name)
        plan = plan_model(site, directory, None, None)
        run = Run(site, plan, directory, make_prompts(plan, _PROMPTS), say)
        yield from survived(f"warm TTFT, {OFFLOAD}", run.offload())
        with running_daemon(POOL_BYTES) as daemon:
            for kind in _KINDS:
                yield from survived(f"warm TTFT, {kind}", run.pegaflow(kind, daemon))
        yield from survived("engine start", run.starts_only())


@dataclass
class Run:
    """Engines one after the other; what is compared between them."""

    site: VllmSite
    plan: ModelPlan
    directory: Path
    prompts: Sequence[Prompt]
    say: Say
    starts: dict[str, float] = field(default_factory=dict)
    warm_ms: dict[str, float] = field(default_factory=dict)

    def offload(self) -> Iterator[Result]:
        """VLLM's own: the figures that ours are compared with."""
        with self._engine(OFFLOAD, vllm_offload(_OFFLOAD_BYTES)) as engine:
            self._passes(OFFLOAD, engine, None)
        yield self._warm(OFFLOAD, None)

    def pegaflow(self, kind: str, daemon: BenchDaemon) -> Iterator[Result]:
        """Ours with one layout."""
        most, environment = _KINDS[kind]
        with self._engine(kind, ours(daemon.socket), environment) as engine:
            engine.wait_attached(daemon)
            same = self._passes(kind, engine, daemon)
        yield self._warm(kind, most)
        answers = _PASSES * _PROMPTS
        what = f"warm TTFT, {kind}: same greedy tokens"
        yield Result(what, same, f"of {answers}", answers, "least")
        mine, theirs = self.warm_ms[kind], self.warm_ms.get(OFFLOAD)
        if theirs is None:
            raise PegaflowError(f"{OFFLOAD} was not measured, and {kind} is compared with it")
        how = f"{mine} ms; {OFFLOAD} {theirs} ms"
        what = f"warm TTFT, {kind}: over {OFFLOAD}"
        yield Result(what, round(mine / theirs, 3), "x", 0.999, "most", how)

    def starts_only(self) -> Iterator[Result]:
        """Without a connector, and with vLLM's offload of all the memory that there is."""
        with self._engine("no connector", None):
            pass
        alone, mine = self.starts["no connector"], self.starts[_DEFAULT]
        how = "from the start of its process until it serves; 8B shape, dummy weights, eager"
        yield Result("engine start without a connector", alone, "s", how=how)
        how = f"{mine} s; the daemon's pool has {POOL_BYTES >> 30} GiB"
        more = round(mine - alone, 2)
        yield Result("engine start with ours, above that", more, "s", 2.0, "most", how)
        largest = max(_available_bytes() - _RESERVED_BYTES, _LEAST_LARGE_BYTES)
        size = f"{OFFLOAD} of {largest >> 30} GiB"
        with self._engine(size, vllm_offload(largest)):
            pass
        how = f"{self.starts[size]} s with {size}, the largest that fits"
        times = round(self.starts[size] / mine, 2)
        yield Result(f"engine start, {OFFLOAD} over ours", times, "x", 2.15, "least", how)

    def _warm(self, kind: str, most: float | None) -> Result:
        how = (
            f"{_PROMPTS} prompts of {self.plan.tokens:,} tokens, one at a time, {_PASSES} passes, "
            "eager; p50"
        )
        return Result(f"warm TTFT, {kind}", self.warm_ms[kind], "ms", most, "most", how)

    def _passes(self, kind: str, engine: VllmEngine, daemon: BenchDaemon | None) -> int:
        """A cold and some warm passes; how many warm answers are as the cold ones."""
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

    @contextmanager
    def _engine(
        self,
        kind: str,
        connector: Mapping[str, Any] | None,
        environment: Mapping[str, str] | None = None,
    ) -> Iterator[VllmEngine]:
        self.say(f"starting vLLM {self.site.version}: {kind}")
        log = self.directory / "engine.log"
        arguments = self.plan.arguments
        with running_engine(self.site, arguments, log, connector, environment) as engine:
            self.starts[kind] = round(engine.start_s, 2)
            warm_up(engine, self.plan)
            yield engine


def _available_bytes() -> int:
    meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
    line = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024
