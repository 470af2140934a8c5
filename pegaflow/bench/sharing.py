"""Several engines: one pool for all against a pool for each, under two ways of routing."""

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pegaflow.bench import machine
from pegaflow.bench.daemon import BenchDaemon, running_daemon
from pegaflow.bench.figures import Say
from pegaflow.bench.ttft import Choice, warm_up
from pegaflow.bench.vllm_engine import Job, Prompt, VllmEngine, ours, random_prompt
from pegaflow.bench.vllm_site import ModelPlan, VllmSite, plan_model

Routing = Literal["round-robin", "prefix-sticky"]
ROUTINGS: Final[tuple[Routing, ...]] = ("round-robin", "prefix-sticky")

_GENERATE: Final = 8
_OWN_SHARE: Final = 8
"""A suffix is that part of its prefix's length."""
_POOL_OF_PREFIXES: Final = 1.5
"""Room in the pool, all engines together, for so many times the prefixes."""
_ORDER: Final = 1
"""The seed of the order of prefixes: all arrangements are asked for them in the same one."""
_PARTS_OF_PROMPTS: Final = 4
"""An engine's own cache holds about a prompt and the steps under way."""


@dataclass(frozen=True)
class Traffic:
    """Rounds of a request for each prefix; one begins when the one before is answered and saved."""

    engines: int
    prefixes: int
    rounds: int

    @property
    def requests(self) -> int:
        """Of all engines and rounds."""
        return self.prefixes * self.rounds

    @classmethod
    def of(cls, engines: int, *, is_quick: bool) -> "Traffic":
        """More prefixes than one engine's part of the pools holds."""
        per_engine = 2 if is_quick else 4
        prefixes = per_engine * engines
        return cls(engines, prefixes, 3 if is_quick else 6)

    def jobs(
        self, plan: ModelPlan, routing: Routing, source: random.Random
    ) -> Iterator[list[list[Job]]]:
        """Each round's requests by engine; the same order of prefixes in each routing."""
        own = plan.tokens // _OWN_SHARE
        prefixes = [
            random_prompt(source, plan.tokens - own, plan.vocabulary) for _ in range(self.prefixes)
        ]
        order = random.Random(_ORDER)
        for _ in range(self.rounds):
            jobs: list[list[Job]] = [[] for _ in range(self.engines)]
            for number, prefix in enumerate(order.sample(range(self.prefixes), self.prefixes)):
                engine = (number if routing == "round-robin" else prefix) % self.engines
                jobs[engine].append(Job(_joined(prefixes[prefix], source, own, plan), _GENERATE))
            yield jobs


def _joined(prefix: Prompt, source: random.Random, own: int, plan: ModelPlan) -> Prompt:
    return [*prefix, *random_prompt(source, own, plan.vocabulary)]


@dataclass(frozen=True)
class Cell:
    """One arrangement of pools under one routing."""

    pools: int
    routing: Routing
    tokens_s: float
    """Prompt and generated tokens of all engines a second."""
    hit_rate: float
    """Prompt tokens that no engine computed."""


@dataclass(frozen=True)
class SharingReport:
    """All arrangements of a run."""

    vllm: str
    on_gpu: bool
    engines: int
    prefixes: int
    requests: int
    tokens: int
    pool_bytes: int
    """Of all pools together."""
    cells: tuple[Cell, ...]

    def document(self) -> dict[str, Any]:
        """The ``bench-sharing`` document."""
        return {"machine": machine.describe(), **asdict(self)}


def measure(choice: Choice, engines: int, say: Say, *, is_quick: bool = False) -> SharingReport:
    """Run the same traffic against one pool and against as many as there are engines."""
    site = VllmSite.of(choice.python)
    traffic = Traffic.of(engines, is_quick=is_quick)
    with tempfile.TemporaryDirectory(prefix="pegaflow-sharing-") as name:
        directory = Path(name)
        plan = plan_model(site, directory, choice.model, choice.tokens or _default_tokens(site))
        pool_bytes = int(_POOL_OF_PREFIXES * traffic.prefixes * plan.prompt_bytes)
        bench = _Bench(site, plan, traffic, pool_bytes, directory, choice, say)
        cells = tuple(cell for pools in (1, engines) for cell in bench.cells(pools))
    return SharingReport(
        site.version,
        site.on_gpu,
        engines,
        traffic.prefixes,
        traffic.requests,
        plan.tokens,
        pool_bytes,
        cells,
    )


def _default_tokens(site: VllmSite) -> int:
    """Several engines are measured at once, on one GPU or on few cores."""
    return 4000 if site.on_gpu else 700


@dataclass(frozen=True)
class _Bench:
    site: VllmSite
    plan: ModelPlan
    traffic: Traffic
    pool_bytes: int
    directory: Path
    choice: Choice
    say: Say

    def cells(self, pools: int) -> Iterator[Cell]:
        """Both routings with so many pools."""
        with ExitStack() as stack:
            self.say(f"starting {self.traffic.engines} engines with {pools} of the pools")
            daemons = [
                stack.enter_context(running_daemon(self.pool_bytes // pools)) for _ in range(pools)
            ]
            engines = stack.enter_context(self._engines(daemons))
            for routing in ROUTINGS:
                yield self._cell(pools, routing, engines, daemons)

    @contextmanager
    def _engines(self, daemons: Sequence[BenchDaemon]) -> Iterator[list[VllmEngine]]:
        """Engines that start side by side, in turn on the daemons."""
        arguments = {**self.plan.arguments, **self._small_cache(), **self.choice.engine_arguments}
        engines: list[VllmEngine] = []
        try:
            for number in range(self.traffic.engines):
                daemon = daemons[number % len(daemons)]
                log = self.directory / f"engine-{number}.log"
                engines.append(
                    VllmEngine(
                        self.site, arguments, log, ours(daemon.socket), self.choice.environment
                    )
                )
            for engine in engines:
                engine.wait_started()
                warm_up(engine, self.plan)
            for number, engine in enumerate(engines):
                engine.wait_attached(daemons[number % len(daemons)])
            yield engines
        finally:
            for engine in engines:
                engine.kill()

    def _small_cache(self) -> dict[str, float]:
        """An engine's own cache, so small that what it finds again comes from the pools."""
        return {
            "kv_cache_memory_bytes": _PARTS_OF_PROMPTS * self.plan.prompt_bytes,
            "max_num_seqs": 2,
            # Of the device's memory, which all of them share: vLLM asks whether it is free.
            "gpu_memory_utilization": round(0.8 / self.traffic.engines, 2),
        }

    def _cell(
        self,
        pools: int,
        routing: Routing,
        engines: Sequence[VllmEngine],
        daemons: Sequence[BenchDaemon],
    ) -> Cell:
        asked = made = cached = 0
        began = time.monotonic()
        for jobs in self.traffic.jobs(self.plan, routing, random.SystemRandom()):
            for engine, own in zip(engines, jobs, strict=True):
                engine.send(own)
            results = [result for engine in engines for result in engine.results()]
            for number, engine in enumerate(engines):
                engine.settle(daemons[number % len(daemons)])
            asked += sum(len(job.prompt) for own in jobs for job in own)
            made += sum(len(result.tokens) for result in results)
            cached += sum(result.cached for result in results)
        seconds = time.monotonic() - began
        cell = Cell(
            pools=pools,
            routing=routing,
            tokens_s=round((asked + made) / seconds, 1),
            hit_rate=round(cached / asked, 4),
        )
        self.say(f"{pools} pools, {routing}: {cell.tokens_s} tokens/s, {cell.hit_rate:.1%} hits")
        return cell
