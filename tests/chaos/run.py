"""One run: set up, warm up, faults, quiet, a replay, the end."""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pegaflow import _native
from pegaflow.bench.tiny_model import write_tiny_model
from tests.chaos.client import Client
from tests.chaos.daemon_faults import DaemonFaults
from tests.chaos.engine_faults import EngineFaults, Killing
from tests.chaos.figures import Figures
from tests.chaos.journal import Journal
from tests.chaos.judge import Judge
from tests.chaos.leaks import becomes, growth_when_quiet, leaks_when_quiet, left_files
from tests.chaos.place import EnginePlace
from tests.chaos.recovery import Recoveries, attached_places
from tests.chaos.reference import Reference, compute_reference
from tests.chaos.replay import replay_over_a_kill
from tests.chaos.resources import Baseline, MemoryWatch
from tests.chaos.threads import Task, run_together
from tests.demo.report import Report
from tests.engine.daemon import DaemonProcess
from tests.engine.engine import EngineProcess
from tests.engine.vllm_install import VllmInstall

_ENGINES: Final = 2
_CLIENTS: Final = 4
"""Of each engine, at the same time."""

_POOL: Final = "24MiB"
"""Room for most of the blocks of the mix, not for all."""

_STEP_TOKENS: Final = 128
_KV_BLOCKS: Final = 44
"""One longest request fits, four usual ones do not."""

_WARM_UP_REQUESTS: Final = 200
_CALM_REQUESTS: Final = 60
_PEACE_S: Final = 240.0
_ENGINE_KILLS: Final = 0.6
"""After this share of the run no engine is killed: what grows with the daemon's restarts shows."""

_MEMORY_FROM: Final = 0.8
"""From here on engines' memory may not grow: their allocators have seen most kinds of steps."""

_END_S: Final = 60.0


@dataclass(frozen=True)
class Harm:
    """What was done, and what was seen meanwhile."""

    faults: Counter[str]
    recoveries: Recoveries
    warm_mib: Mapping[int, float]
    """What each engine took when it was warm, by the number of its place."""


class Chaos:
    """One run, whose logs stay in ``directory``."""

    def __init__(
        self, report: Report, install: VllmInstall, directory: Path, minutes: float, seed: int
    ) -> None:
        self._report = report
        self._install = install
        self._directory = directory
        self._minutes = minutes
        self._seed = seed

    def run(self) -> Figures:
        """Run it."""
        model = write_tiny_model(self._directory / "model")
        with ExitStack() as stack:
            memory = tempfile.TemporaryDirectory(prefix="pegaflow-chaos-", dir="/dev/shm")
            pool_dir = Path(stack.enter_context(memory))
            options = [f"--pool-dir={pool_dir}", "--scrub-period=20s"]
            daemon = stack.enter_context(DaemonProcess(_POOL, options))
            stack.callback(shutil.copy, daemon.log, self._directory)
            places = [
                EnginePlace(number, partial(self._engine, model, daemon))
                for number in range(1, _ENGINES + 1)
            ]
            for place in places:
                stack.callback(place.close)
            judge = Judge(self._set_up(model, places))
            baseline = self._warm_up(daemon, places, judge)
            harm = self._do_harm(daemon, places, judge)
            self._serve_in_peace(daemon, places, judge, _CALM_REQUESTS, 2 * _ENGINES * _CLIENTS)
            self._report.step("waiting until all is quiet, to see what is still held")
            left = list(leaks_when_quiet(daemon, places))
            growth = growth_when_quiet(partial(baseline.growth, daemon, places, harm.warm_mib))
            self._report.step("asking the same prompts before and after one more kill")
            replay = replay_over_a_kill(daemon, places[0], judge)
            engines = sum((place.ended() for place in places), Counter[str]())
            left += self._end(daemon, pool_dir)
        return Figures(
            self._minutes,
            self._seed,
            judge,
            harm.faults,
            engines,
            harm.recoveries,
            replay,
            growth,
            left,
        )

    def _engine(self, model: Path, daemon: DaemonProcess, name: str) -> EngineProcess:
        options = [
            f"--num-gpu-blocks-override={_KV_BLOCKS}",
            f"--max-num-batched-tokens={_STEP_TOKENS}",
        ]
        log = self._directory / f"{name}.log"
        return EngineProcess(self._install, model, daemon.socket, log, options)

    def _set_up(self, model: Path, places: Sequence[EnginePlace]) -> Reference:
        self._report.step("starting two engines, and computing the cold reference beside them")
        with ThreadPoolExecutor() as threads:
            log = self._directory / "reference.log"
            computing = threads.submit(
                compute_reference, self._install, model, self._seed, log, _STEP_TOKENS
            )
            list(threads.map(EnginePlace.start, places))
            reference = computing.result()
        gaps = [gap for answer in reference.answers for gap in answer.gaps]
        above = sum(gap > reference.least_gap for gap in gaps)
        self._report.step(
            f"{len(reference.questions)} prompts; runs without the cache differ by "
            f"{reference.noise:.1e} at most; {above} of {len(gaps)} positions have more than "
            f"{reference.least_gap:.1e} between their two best tokens"
        )
        return reference

    def _clients(self, places: Sequence[EnginePlace], judge: Judge, first: int) -> list[Task]:
        numbered = enumerate((place for place in places for _ in range(_CLIENTS)), first)
        return [Client(place, judge, self._seed, number).run for number, place in numbered]

    def _warm_up(
        self, daemon: DaemonProcess, places: Sequence[EnginePlace], judge: Judge
    ) -> Baseline:
        self._serve_in_peace(daemon, places, judge, _WARM_UP_REQUESTS, 0)
        assert not (problems := judge.wrong + judge.failed), problems
        self._report.step(f"warm after {judge.counts['requests']} requests")
        return Baseline.of(daemon, places)

    def _serve_in_peace(
        self,
        daemon: DaemonProcess,
        places: Sequence[EnginePlace],
        judge: Judge,
        requests: int,
        first: int,
    ) -> None:
        """Requests without faults, until there were so many and all engines are attached."""
        enough = judge.counts["requests"] + requests

        def is_over() -> bool:
            is_enough = judge.counts["requests"] >= enough
            return is_enough and len(attached_places(daemon, places)) == len(places)

        run_together(self._clients(places, judge, first), is_over, _PEACE_S)
        for place in places:
            place.engine.reset()

    def _do_harm(self, daemon: DaemonProcess, places: Sequence[EnginePlace], judge: Judge) -> Harm:
        self._report.step(f"now {self._minutes:g} minutes of kills and stops, seed {self._seed}")
        journal = Journal(self._directory / "faults.log")
        began, seconds = time.monotonic(), 60 * self._minutes
        killing = Killing(self._seed, len(places))
        watch = MemoryWatch(places, began + _MEMORY_FROM * seconds)
        of_daemon = DaemonFaults(daemon, places, self._seed, journal)
        of_engines = [EngineFaults(place, killing, self._seed, journal) for place in places]

        def is_over() -> bool:
            if time.monotonic() > began + _ENGINE_KILLS * seconds:
                killing.end.set()
            return time.monotonic() > began + seconds

        faults: list[DaemonFaults | EngineFaults] = [of_daemon, *of_engines]
        clients = self._clients(places, judge, _ENGINES * _CLIENTS)
        run_together([*clients, watch.run, *(fault.run for fault in faults)], is_over, 2 * seconds)
        counts = sum((fault.counts for fault in faults), Counter[str]())
        self._report.step(f"{judge.counts['requests']} requests; {dict(counts)}")
        return Harm(counts, of_daemon.recoveries, watch.warm)

    def _end(self, daemon: DaemonProcess, pool_dir: Path) -> Iterator[str]:
        """What is left of engines, which have ended, and of the daemon, which ends now."""
        if not becomes(lambda: not daemon.status()["engines"]):
            yield "engines that have ended are still attached"
        _native.stop(str(daemon.socket), True, _END_S)
        yield from left_files(pool_dir)
        yield from left_files(daemon.directory, besides=daemon.log)
