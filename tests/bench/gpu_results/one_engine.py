"""One engine after another, each with the machine to itself: engines that only wait slow others."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.daemon import BenchDaemon, running_daemon
from pegaflow.bench.figures import Say
from pegaflow.bench.vllm_engine import VllmEngine, ours, running_engine, vllm_offload
from pegaflow.bench.vllm_site import ModelPlan, VllmSite, plan_model

OFFLOAD: Final = "vLLM's own offload"
ACROSS: Final = "blocks across layers"
DEFAULT: Final = "default layout"
_OURS: Final = (ACROSS, DEFAULT)
POOL_BYTES: Final = 32 << 30
SMALL_CACHE: Final[Mapping[str, Any]] = {"kv_cache_memory_bytes": 4 << 30}
"""A GPU cache that holds three of the prompts."""

_V1_RUNNER: Final = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
"""It gives a connector blocks of one run where that asks for them."""


@dataclass(frozen=True)
class Running:
    """An engine that serves, and its daemon if it is ours."""

    plan: ModelPlan
    engine: VllmEngine
    daemon: BenchDaemon | None


@contextmanager
def running(
    kind: str, arguments: Mapping[str, Any], offload_bytes: int, say: Say
) -> Iterator[Running]:
    """An engine of this kind, with ``arguments`` besides those of the model; killed afterwards."""
    site = VllmSite.of(sys.executable)
    with tempfile.TemporaryDirectory(prefix="pegaflow-results-") as name, ExitStack() as stack:
        directory = Path(name)
        plan = plan_model(site, directory, None, None)
        daemon = stack.enter_context(running_daemon(POOL_BYTES)) if kind in _OURS else None
        connector = vllm_offload(offload_bytes) if kind == OFFLOAD else None
        if daemon is not None:
            connector = ours(daemon.socket)
        say(f"starting vLLM {site.version}: {kind}")
        engine = stack.enter_context(
            running_engine(
                site,
                {**plan.arguments, **arguments},
                directory / "engine.log",
                connector,
                _V1_RUNNER if kind == ACROSS else {},
            )
        )
        yield Running(plan, engine, daemon)
