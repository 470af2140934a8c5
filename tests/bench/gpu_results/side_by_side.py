"""A daemon and several engines, all of which are started before the first is asked."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.daemon import BenchDaemon
from pegaflow.bench.figures import Say
from pegaflow.bench.vllm_engine import VllmEngine, ours, vllm_offload
from pegaflow.bench.vllm_site import ModelPlan, VllmSite, plan_model
from pegaflow.errors import PegaflowError

ALONE: Final = "no connector"
OFFLOAD: Final = "vLLM's own offload"
ACROSS: Final = "blocks across layers"
DEFAULT: Final = "default layout"
POOL_BYTES: Final = 32 << 30
SMALL_CACHE: Final[Mapping[str, Any]] = {
    "kv_cache_memory_bytes": 4 << 30,
    # Several are on the GPU at once; vLLM refuses to start where less than this is free.
    "gpu_memory_utilization": 0.1,
}
"""A GPU cache that holds three of the prompts."""

_V1_RUNNER: Final = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
"""It gives a connector blocks of one run where that asks for them."""


@dataclass(frozen=True)
class Compared:
    """Engines by kind, and the daemon of those that are ours."""

    plan: ModelPlan
    daemon: BenchDaemon
    engines: Mapping[str, VllmEngine]

    def daemon_of(self, kind: str) -> BenchDaemon | None:
        """None for what is vLLM's own."""
        return self.daemon if kind in (ACROSS, DEFAULT) else None


@contextmanager
def started(
    kinds: tuple[str, ...], arguments: Mapping[str, Any], offload_bytes: int, say: Say
) -> Iterator[Compared]:
    """Engines of these kinds, with ``arguments`` besides those of the model; killed afterwards."""
    site = VllmSite.of(sys.executable)
    with tempfile.TemporaryDirectory(prefix="pegaflow-results-") as name, ExitStack() as stack:
        directory = Path(name)
        plan = plan_model(site, directory, None, None)
        say(f"a daemon with {POOL_BYTES >> 30} GiB")
        daemon = BenchDaemon(POOL_BYTES)
        stack.callback(daemon.close)
        daemon.start()
        daemon.wait_ready()
        connectors = {
            ALONE: None,
            OFFLOAD: vllm_offload(offload_bytes),
            ACROSS: ours(daemon.socket),
            DEFAULT: ours(daemon.socket),
        }
        say(f"starting {len(kinds)} engines of vLLM {site.version} side by side")
        engines: dict[str, VllmEngine] = {}
        for kind in kinds:
            log = directory / f"engine-{len(engines)}.log"
            environment = _V1_RUNNER if kind == ACROSS else {}
            all_arguments = {**plan.arguments, **arguments}
            engines[kind] = VllmEngine(site, all_arguments, log, connectors[kind], environment)
            stack.callback(engines[kind].kill)
        for engine in engines.values():
            # One that has ended says why when it is asked.
            with suppress(PegaflowError):
                engine.wait_started()
        yield Compared(plan, daemon, engines)
