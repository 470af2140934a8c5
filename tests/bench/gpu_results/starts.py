"""How long engines take to start: without a cache, with ours, and with vLLM's own."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.daemon import running_daemon
from pegaflow.bench.figures import Say
from pegaflow.bench.vllm_engine import ours, running_engine, vllm_offload
from pegaflow.bench.vllm_site import VllmSite, plan_model
from pegaflow.errors import PegaflowError
from tests.bench.gpu_results.one_engine import OFFLOAD, POOL_BYTES, SMALL_CACHE
from tests.bench.gpu_results.result import Result, survived

_RESERVED_BYTES: Final = 48 << 30
_LEAST_LARGE_BYTES: Final = 64 << 30
"""A machine whose memory grows as it is used says at first that it has less."""


def rows(say: Say) -> Iterator[Result]:
    """Starts of one engine after another."""
    yield from survived("engine start", _rows(say))


def _rows(say: Say) -> Iterator[Result]:
    site = VllmSite.of(sys.executable)
    with tempfile.TemporaryDirectory(prefix="pegaflow-results-") as name:
        directory = Path(name)
        log = directory / "engine.log"
        arguments = {**plan_model(site, directory, None, None).arguments, **SMALL_CACHE}
        say(f"starting vLLM {site.version}: no connector")
        with running_engine(site, arguments, log) as engine:
            alone = round(engine.start_s, 2)
        how = "from the start of its process until it serves; 8B shape, dummy weights, eager"
        yield Result("engine start without a connector", alone, "s", how=how)
        say(f"starting vLLM {site.version}: ours")
        with running_daemon(POOL_BYTES) as daemon:
            daemon.wait_ready()
            with running_engine(site, arguments, log, ours(daemon.socket)) as engine:
                mine = round(engine.start_s, 2)
        how = f"{mine} s; the daemon's pool has {POOL_BYTES >> 30} GiB"
        more = round(mine - alone, 2)
        yield Result("engine start with ours, above that", more, "s", 2.0, "most", how)
        yield from _large_offload(site, arguments, log, mine, say)


def _large_offload(
    site: VllmSite, arguments: Mapping[str, Any], log: Path, mine: float, say: Say
) -> Iterator[Result]:
    largest = max(_available_bytes() - _RESERVED_BYTES, _LEAST_LARGE_BYTES)
    refused = ""
    for pool_bytes in (largest, largest * 3 // 4, largest // 2):
        size = f"{OFFLOAD} of {pool_bytes >> 30} GiB"
        say(f"starting vLLM {site.version}: {size}")
        try:
            with running_engine(site, arguments, log, vllm_offload(pool_bytes)) as engine:
                theirs = round(engine.start_s, 2)
        except PegaflowError as error:
            refused = f"; with more: {error}"
            continue
        how = f"{theirs} s with {size}, the largest that it starts with; ours {mine} s{refused}"
        times = round(theirs / mine, 2)
        yield Result(f"engine start, {OFFLOAD} over ours", times, "x", 2.15, "least", how)
        return
    raise PegaflowError(f"{OFFLOAD} does not start{refused}")


def _available_bytes() -> int:
    meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
    line = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024
