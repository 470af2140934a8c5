"""Time to the first token: computed, from vLLM's own cache, and from the caches beside it."""

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pegaflow.bench import machine
from pegaflow.bench.daemon import BenchDaemon, running_daemon
from pegaflow.bench.figures import Say, median
from pegaflow.bench.vllm_engine import (
    Prompt,
    Result,
    VllmEngine,
    ours,
    random_prompt,
    running_engine,
    vllm_offload,
)
from pegaflow.bench.vllm_site import ModelPlan, VllmSite, plan_model
from pegaflow.errors import PegaflowError

_GENERATE: Final = 16
_WARM_UP: Final = (64, 512)
_PASSES: Final = 2


@dataclass(frozen=True)
class Choice:
    """What the user chose; None and empty are what suits the device."""

    python: str
    model: str | None = None
    prompts: int = 8
    tokens: int | None = None
    engine_arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """All prompts once, one at a time."""

    engine: str
    """``no connector``, ``pegaflow`` or ``vllm offload``."""
    what: str
    """``cold``, ``gpu hit``, ``warm`` or ``recompute``."""
    ttft_ms: tuple[float, ...]
    cached_tokens: int
    prompt_tokens: int
    same_tokens: int
    """Prompts whose greedy tokens are those of the engine's cold pass."""

    @property
    def median_ms(self) -> float:
        """The middle of all."""
        return median(self.ttft_ms, 2)


@dataclass(frozen=True)
class Engine:
    """One engine's start and passes; or why it could not be measured."""

    name: str
    start_s: float | None
    failure: str | None
    passes: tuple[Pass, ...] = ()


@dataclass(frozen=True)
class TtftReport:
    """All engines of a run."""

    vllm: str
    on_gpu: bool
    prompts: int
    tokens: int
    engines: tuple[Engine, ...]

    @property
    def passes(self) -> list[Pass]:
        """Of all engines."""
        return [one for engine in self.engines for one in engine.passes]

    @property
    def all_same(self) -> bool:
        """Whether every pass gave the tokens of its engine's cold pass."""
        return all(one.same_tokens == self.prompts for one in self.passes)

    def document(self) -> dict[str, Any]:
        """The ``bench-ttft`` document."""
        found = {"machine": machine.describe(), **asdict(self), "same_tokens": self.all_same}
        for engine in found["engines"]:
            for one in engine["passes"]:
                one["median_ms"] = median(one["ttft_ms"], 2)
        return found


def measure(choice: Choice, say: Say) -> TtftReport:
    """Measure an engine without a connector, one with ours, and one with vLLM's own offload."""
    site = VllmSite.of(choice.python)
    with tempfile.TemporaryDirectory(prefix="pegaflow-ttft-") as name:
        directory = Path(name)
        plan = plan_model(site, directory, choice.model, choice.tokens)
        prompts = make_prompts(plan, choice.prompts)
        bench = _Bench(site, plan, prompts, directory, choice, say)
        engines = (bench.alone(), bench.pegaflow(), bench.offload())
    return TtftReport(site.version, site.on_gpu, len(prompts), plan.tokens, engines)


def make_prompts(plan: ModelPlan, count: int) -> list[Prompt]:
    """Prompts that nobody has asked before."""
    source = random.SystemRandom()
    return [random_prompt(source, plan.tokens, plan.vocabulary) for _ in range(count)]


def warm_up(engine: VllmEngine, plan: ModelPlan) -> None:
    """Prompts of several lengths, so that kernels are compiled before anything is measured."""
    source = random.SystemRandom()
    for tokens in sorted({*(length for length in _WARM_UP if length < plan.tokens), plan.tokens}):
        prompt = random_prompt(source, tokens, plan.vocabulary)
        engine.one_by_one([prompt], _GENERATE)


@dataclass(frozen=True)
class _Bench:
    site: VllmSite
    plan: ModelPlan
    prompts: Sequence[Prompt]
    directory: Path
    choice: Choice
    say: Say

    def alone(self) -> Engine:
        """What vLLM does by itself."""

        def passes(engine: VllmEngine, cold: "_Passes") -> None:
            cold.again("gpu hit")
            engine.reset()
            cold.again("recompute")

        return self._engine("no connector", None, None, passes)

    def pegaflow(self) -> Engine:
        """With our connector and a daemon."""
        with running_daemon(self.plan.pool_bytes(len(self.prompts) + 1)) as daemon:
            connector = ours(daemon.socket)

            def passes(engine: VllmEngine, cold: "_Passes") -> None:
                for _ in range(_PASSES):
                    engine.settle(daemon)
                    engine.reset()
                    cold.again("warm")

            return self._engine("pegaflow", connector, daemon, passes)

    def offload(self) -> Engine:
        """With vLLM's own offload of as much memory."""
        connector = vllm_offload(self.plan.pool_bytes(len(self.prompts) + 1))

        def passes(engine: VllmEngine, cold: "_Passes") -> None:
            for _ in range(_PASSES):
                engine.settle(None)
                engine.reset()
                cold.again("warm")

        return self._engine("vllm offload", connector, None, passes)

    def _engine(
        self,
        name: str,
        connector: Mapping[str, Any] | None,
        daemon: BenchDaemon | None,
        passes: Callable[[VllmEngine, "_Passes"], None],
    ) -> Engine:
        self.say(f"starting vLLM {self.site.version}: {name}")
        start_s, done = None, _Passes(name, self.prompts, self.say)
        try:
            with self._running(name, connector) as engine:
                start_s = round(engine.start_s, 2)
                warm_up(engine, self.plan)
                if daemon is not None:
                    engine.wait_attached(daemon)
                done.begin(engine)
                passes(engine, done)
        except PegaflowError as error:
            # One kind of engine that this vLLM cannot run must not hide the others.
            return Engine(name, start_s, str(error), tuple(done.found))
        return Engine(name, start_s, None, tuple(done.found))

    @contextmanager
    def _running(self, name: str, connector: Mapping[str, Any] | None) -> Iterator[VllmEngine]:
        arguments = {**self.plan.arguments, **self.choice.engine_arguments}
        log = self.directory / f"{name.replace(' ', '-')}.log"
        environment = self.choice.environment
        with running_engine(self.site, arguments, log, connector, environment) as engine:
            yield engine


class _Passes:
    """The passes of one engine, each compared with its first."""

    def __init__(self, name: str, prompts: Sequence[Prompt], say: Say) -> None:
        self.found: list[Pass] = []
        self._name = name
        self._prompts = prompts
        self._say = say
        self._engine: VllmEngine | None = None
        self._cold: list[Result] = []

    def begin(self, engine: VllmEngine) -> None:
        """The cold pass."""
        self._engine = engine
        self._cold = self._ask("cold")

    def again(self, what: str) -> None:
        """Another pass of the same prompts."""
        self._ask(what)

    def _ask(self, what: str) -> list[Result]:
        assert self._engine is not None
        results = self._engine.one_by_one(self._prompts, _GENERATE)
        cold = self._cold or results
        one = Pass(
            engine=self._name,
            what=what,
            ttft_ms=tuple(round(result.ttft_ms, 2) for result in results),
            cached_tokens=sum(result.cached for result in results),
            prompt_tokens=sum(map(len, self._prompts)),
            same_tokens=sum(
                first.tokens == result.tokens for first, result in zip(cold, results, strict=True)
            ),
        )
        self.found.append(one)
        self._say(f"{self._name}, {what}: median {one.median_ms} ms")
        return results
