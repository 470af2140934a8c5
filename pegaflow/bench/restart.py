"""What a restart costs, with and without the cache: until it serves, and until the first token."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.bench import machine
from pegaflow.bench.daemon import BenchDaemon, running_daemon
from pegaflow.bench.figures import Say
from pegaflow.bench.ttft import Choice, make_prompts, warm_up
from pegaflow.bench.vllm_engine import Prompt, Result, VllmEngine, ours, running_engine
from pegaflow.bench.vllm_site import ModelPlan, VllmSite, plan_model
from pegaflow.bench.waiting import wait_until

_GENERATE: Final = 16
_CHECKSUM_S: Final = 60.0


@dataclass(frozen=True)
class Restart:
    """One restart and the first request after it, of a prompt that was computed before."""

    what: str
    """``engine`` or ``daemon``: which process was killed and started again."""
    with_cache: bool
    start_s: float
    """From its start until it serves: an engine, or a daemon that has its engine back."""
    first_ttft_ms: float
    cached_tokens: int
    same_tokens: bool


@dataclass(frozen=True)
class RestartReport:
    """All restarts of a run."""

    vllm: str
    on_gpu: bool
    tokens: int
    restarts: tuple[Restart, ...]

    @property
    def all_same(self) -> bool:
        """Whether the first request always gave the tokens from before."""
        return all(restart.same_tokens for restart in self.restarts)

    def document(self) -> dict[str, Any]:
        """The ``bench-restart`` document."""
        return {"machine": machine.describe(), **asdict(self), "same_tokens": self.all_same}


def measure(choice: Choice, say: Say) -> RestartReport:
    """Kill and start an engine without a connector, one with ours, and the daemon under it."""
    site = VllmSite.of(choice.python)
    with tempfile.TemporaryDirectory(prefix="pegaflow-restart-") as name:
        directory = Path(name)
        plan = plan_model(site, directory, choice.model, choice.tokens)
        (prompt,) = make_prompts(plan, 1)
        bench = _Bench(site, plan, prompt, directory, choice, say)
        with running_daemon(plan.pool_bytes(4)) as daemon:
            restarts = (bench.engine_alone(), *bench.engine_and_daemon(daemon))
    return RestartReport(site.version, site.on_gpu, plan.tokens, restarts)


@dataclass(frozen=True)
class _Bench:
    site: VllmSite
    plan: ModelPlan
    prompt: Prompt
    directory: Path
    choice: Choice
    say: Say

    def engine_alone(self) -> Restart:
        """Without a connector the prompt is computed again."""
        with self._engine("before", None) as engine:
            before = self._ask(engine)
        with self._engine("after", None) as engine:
            return self._restart("engine", False, engine.start_s, before, self._ask(engine))

    def engine_and_daemon(self, daemon: BenchDaemon) -> tuple[Restart, Restart]:
        """The engine is killed and started again; then the daemon is."""
        connector = ours(daemon.socket)
        with self._engine("before, with the cache", connector) as engine:
            engine.wait_attached(daemon)
            before = self._ask(engine)
            engine.settle(daemon)
        with self._engine("after, with the cache", connector) as engine:
            engine.wait_attached(daemon)
            engine_restart = self._restart(
                "engine", True, engine.start_s, before, self._ask(engine)
            )
            wait_until(lambda: _is_safe(daemon), "pages get their checksums", _CHECKSUM_S)
            began = time.monotonic()
            daemon.kill()
            self.say("starting the daemon again")
            daemon.start()
            engine.wait_attached(daemon)
            seconds = time.monotonic() - began
            engine.reset()
            return engine_restart, self._restart("daemon", True, seconds, before, self._ask(engine))

    @contextmanager
    def _engine(self, name: str, connector: Mapping[str, Any] | None) -> Iterator[VllmEngine]:
        self.say(f"starting vLLM {self.site.version}: {name}")
        arguments = {**self.plan.arguments, **self.choice.engine_arguments}
        log = self.directory / "engine.log"
        environment = self.choice.environment
        with running_engine(self.site, arguments, log, connector, environment) as engine:
            warm_up(engine, self.plan)
            yield engine

    def _ask(self, engine: VllmEngine) -> Result:
        (result,) = engine.one_by_one([self.prompt], _GENERATE)
        return result

    def _restart(
        self, what: str, with_cache: bool, start_s: float, before: Result, after: Result
    ) -> Restart:
        return Restart(
            what=what,
            with_cache=with_cache,
            start_s=round(start_s, 2),
            first_ttft_ms=round(after.ttft_ms, 2),
            cached_tokens=after.cached,
            same_tokens=before.tokens == after.tokens,
        )


def _is_safe(daemon: BenchDaemon) -> bool:
    """Whether the next daemon would take every page over."""
    return daemon.status().checksums.pending_pages == 0
