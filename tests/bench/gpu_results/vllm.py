"""Real vLLM: all engines whose start is not measured start side by side, and are asked in turn."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.daemon import BenchDaemon
from pegaflow.bench.figures import Say
from pegaflow.bench.ttft import make_prompts
from pegaflow.bench.vllm_engine import VllmEngine, ours, vllm_offload
from pegaflow.bench.vllm_site import VllmSite, plan_model
from pegaflow.errors import PegaflowError
from tests.bench.gpu_results import mix
from tests.bench.gpu_results.engines import (
    ACROSS,
    ACROSS_LAYERS,
    DEFAULT,
    OFFLOAD,
    PROMPTS,
    OneByOne,
    alone_and_ours,
)
from tests.bench.gpu_results.result import Result, survived

POOL_BYTES: Final = 32 << 30
_OFFLOAD_BYTES: Final = 12 << 30
_MIX_OFFLOAD_BYTES: Final = 20 << 30
ONE_BY_ONE: Final[Mapping[str, Any]] = {
    "kv_cache_memory_bytes": 4 << 30,
    # Several are on the GPU at once; vLLM refuses to start where less than this is free.
    "gpu_memory_utilization": 0.1,
}


def rows(say: Say) -> Iterator[Result]:
    """Prompts one at a time, warm prompts beside decoding, and starts of engines."""
    yield from survived("vLLM", _rows(say))


def _rows(say: Say) -> Iterator[Result]:
    site = VllmSite.of(sys.executable)
    with tempfile.TemporaryDirectory(prefix="pegaflow-results-") as name, ExitStack() as stack:
        directory = Path(name)
        plan = plan_model(site, directory, None, None)
        alone = {**plan.arguments, **ONE_BY_ONE}
        say(f"a daemon with {POOL_BYTES >> 30} GiB")
        daemon = BenchDaemon(POOL_BYTES)
        stack.callback(daemon.close)
        daemon.start()
        daemon.wait_ready()
        one_by_one = OneByOne(plan, make_prompts(plan, PROMPTS))
        mine = ours(daemon.socket)
        mixed = {**plan.arguments, **mix.ARGUMENTS}
        wanted: dict[tuple[str, str], tuple[Mapping[str, Any], ...]] = {
            ("one", OFFLOAD): (alone, vllm_offload(_OFFLOAD_BYTES), {}),
            ("one", ACROSS): (alone, mine, ACROSS_LAYERS),
            ("mix", OFFLOAD): (mixed, vllm_offload(_MIX_OFFLOAD_BYTES), {}),
            ("mix", DEFAULT): (mixed, mine, {}),
            ("mix", ACROSS): (mixed, mine, ACROSS_LAYERS),
        }
        say(f"starting {len(wanted)} engines of vLLM {site.version} side by side")
        engines: dict[tuple[str, str], VllmEngine] = {}
        for key, (arguments, connector, environment) in wanted.items():
            log = directory / f"engine-{len(engines)}.log"
            engines[key] = VllmEngine(site, arguments, log, connector, environment)
            stack.callback(engines[key].kill)
        for engine in engines.values():
            # One that has ended says why when it is asked.
            with suppress(PegaflowError):
                engine.wait_started()
        mixes = mix.Mixes(plan)
        yield from _asked(engines, one_by_one, mixes, daemon, say)
        for engine in engines.values():
            engine.kill()
        measured = alone_and_ours(site, one_by_one, alone, directory, daemon, say)
        yield from survived("engine start", measured)


def _asked(
    engines: Mapping[tuple[str, str], VllmEngine],
    one_by_one: OneByOne,
    mixes: mix.Mixes,
    daemon: BenchDaemon,
    say: Say,
) -> Iterator[Result]:
    """All that started side by side."""
    say("prompts one at a time")
    yield from survived(f"warm TTFT, {OFFLOAD}", one_by_one.offload(engines["one", OFFLOAD]))
    across = one_by_one.pegaflow(ACROSS, engines["one", ACROSS], daemon)
    yield from survived(f"warm TTFT, {ACROSS}", across)
    for kind in (OFFLOAD, DEFAULT, ACROSS):
        say(f"warm prompts and decoding: {kind}")
        its_daemon = None if kind == OFFLOAD else daemon
        found = mixes.rows(kind, engines["mix", kind], its_daemon)
        yield from survived(f"mix, {kind}", found)
