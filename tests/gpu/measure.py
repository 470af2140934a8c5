"""Measures the data path on the machine's GPU, and writes a file of results.

``PEGAFLOW_TEST_GPU=1 python -m tests.gpu.measure --out FILE``: saves and loads of vLLM's layouts of
an 8B model (a block of 16 tokens is 2 MiB), against the link's limit in the same run; how fast the
pool is pinned; what a lookup and load of few blocks takes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pegaflow.version import VERSION
from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedHalves, fresh_hashes
from tests.fence.engine_memory import Shape
from tests.gpu.conftest import PROGRAM
from tests.gpu.driver import Driver
from tests.gpu.engine_process import GpuMemory

BLOCKS: Final = 1_024
BLOCK_BYTES: Final = 2 << 20
LAYOUTS: Final = {
    "one run a block across layers": Shape(BLOCKS, 1, BLOCK_BYTES),
    "blocks first: 32 runs of 64 KiB": Shape(BLOCKS, 32, 64 << 10),
    "K and V apart: 64 runs of 32 KiB": Shape(BLOCKS, 64, 32 << 10),
}
POOL: Final = 24 << 30
ROUNDS: Final = 5
FEW_ROUNDS: Final = 100


class Link:
    """One large copy between pinned memory and the GPU."""

    SIZE: Final = 1 << 30

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._device = driver.allocate(self.SIZE)
        self._host = driver.allocate_pinned(self.SIZE)

    def rates(self) -> dict[str, float]:
        """GB/s of the best of some copies, in each direction."""
        to_device = [self._rate(True) for _ in range(ROUNDS)]
        to_host = [self._rate(False) for _ in range(ROUNDS)]
        return {"load": max(to_device), "save": max(to_host)}

    def _rate(self, is_to_device: bool) -> float:
        began = time.perf_counter()
        self._driver.copy(self._device, self._host, self.SIZE, is_to_device=is_to_device)
        return self.SIZE / 1e9 / (time.perf_counter() - began)


class Bench:
    """One engine of a shape, in this process."""

    def __init__(self, daemon: DaemonProcess, driver: Driver, shape: Shape) -> None:
        self._driver = driver
        self._shape = shape
        self._memory = GpuMemory(driver, shape)
        self._engine = AttachedHalves(daemon.socket, self._memory.layout_json())

    def rates(self, limit: dict[str, float]) -> dict[str, Any]:
        """GB/s of saves and loads of all blocks, and how much of the limit the median is."""
        size = self._shape.num_blocks * self._shape.block_bytes / 1e9
        seconds: dict[str, list[float]] = {"save": [], "load": []}
        for _ in range(ROUNDS):
            hashes = fresh_hashes(self._shape.num_blocks)
            seconds["save"].append(self._save(hashes))
            seconds["load"].append(self._load(hashes))
        found: dict[str, Any] = {}
        for kind, times in seconds.items():
            median = size / statistics.median(times)
            found[kind] = {
                "gb_s": round(median, 1),
                "best_gb_s": round(size / min(times), 1),
                "of_limit": round(median / limit[kind], 3),
            }
        return found

    def few(self, count: int) -> dict[str, float]:
        """Microseconds of the median lookup and load of ``count`` blocks, together and apart."""
        hashes = fresh_hashes(count)
        self._save(hashes)
        lookups, loads = [], []
        for _ in range(FEW_ROUNDS):
            began = time.perf_counter()
            request, answer = self._engine.lookup(hashes)
            looked_up = time.perf_counter()
            lease = self._engine.scheduler.take(request)
            assert lease is not None and answer.memory_blocks == count
            point = self._engine.worker.mark(self._driver.stream)
            transfer = self._engine.worker.load("few", *lease, 0, range(count), point)
            while not (ended := self._engine.worker.poll()):
                pass
            assert ended[0].transfer_id == transfer and ended[0].ok, ended[0].message
            lookups.append(looked_up - began)
            loads.append(time.perf_counter() - looked_up)
        return {
            "lookup_us": round(statistics.median(lookups) * 1e6, 1),
            "load_us": round(statistics.median(loads) * 1e6, 1),
        }

    def close(self) -> None:
        """Leave the daemon and free the memory."""
        self._engine.close()
        self._driver.free(self._memory.address)

    def _save(self, hashes: list[bytes]) -> float:
        return self._timed(
            lambda: self._engine.start_save(hashes, range(len(hashes)), self._mark())
        )

    def _load(self, hashes: list[bytes]) -> float:
        return self._timed(
            lambda: self._engine.start_load(hashes, range(len(hashes)), self._mark())
        )

    def _mark(self) -> Any:
        return self._engine.worker.mark(self._driver.stream)

    def _timed(self, start: Callable[[], int]) -> float:
        end = self._engine.wait_end(start(), 60)
        assert end.ok, end.message
        return end.seconds


def pinning(pool: int) -> dict[str, Any]:
    """How soon a daemon answers, and how fast a new pool of ``pool`` bytes is there and pinned."""
    with_size = [f"--pool-size={pool}"]
    daemon = DaemonProcess(options=with_size, program=PROGRAM)
    try:
        answered = daemon.launch()
        began = time.monotonic() - answered
        wait_until(lambda: _is_pinned(daemon), "the pool is pinned", 300)
        seconds = time.monotonic() - began
        return {
            "pool_gb": round(pool / 1e9, 1),
            "kind": daemon.status()["pool"]["kind"],
            "first_answer_s": round(answered, 2),
            "pinned_s": round(seconds, 2),
            "gb_s": round(pool / 1e9 / seconds, 1),
        }
    finally:
        daemon.close()


def _is_pinned(daemon: DaemonProcess) -> bool:
    status = daemon.patient_status()
    return bool(status["gpus"]["pinned_bytes"] == status["pool"]["bytes"])


def machine() -> dict[str, str]:
    """What the figures are of."""
    fields = "name,driver_version,pcie.link.gen.max,pcie.link.width.max"
    gpu = subprocess.run(
        ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return {
        "gpu": gpu,
        "cpus": str(os.cpu_count()),
        "kernel": os.uname().release,
        "python": sys.version.split()[0],
        "pegaflow": VERSION,
        "commit": os.environ.get("PEGAFLOW_COMMIT", ""),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def measure(pin_pool: int) -> dict[str, Any]:
    """All figures."""
    driver = Driver()
    limit = Link(driver).rates()
    found: dict[str, Any] = {
        "machine": machine(),
        "limit_gb_s": {kind: round(rate, 1) for kind, rate in limit.items()},
        "pinning": pinning(pin_pool),
        "layouts": {},
    }
    with DaemonProcess(options=[f"--pool-size={POOL}"], program=PROGRAM) as daemon:
        wait_until(lambda: _is_pinned(daemon), "the pool is pinned", 300)
        for name, shape in LAYOUTS.items():
            bench = Bench(daemon, driver, shape)
            found["layouts"][name] = bench.rates(limit)
            if shape.layers == 1:
                found["few_blocks"] = {str(count): bench.few(count) for count in (1, 8)}
            bench.close()
    return found


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pin-pool", type=int, default=64 << 30, help="bytes")
    arguments = parser.parse_args()
    text = json.dumps(measure(arguments.pin_pool), indent=2)
    print(text)
    arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
