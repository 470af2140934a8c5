"""A save and a load of random bytes through the daemon, as an engine does them."""

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import Final

from pegaflow.bench.engine import BenchEngine
from pegaflow.bench.layout import BlockLayout
from pegaflow.bench.memory import Device, HostDevice
from pegaflow.doctor.finding import Finding
from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.models import Status
from pegaflow.units import format_size

NAMESPACE: Final = hashlib.sha256(b"pegaflow doctor").digest()
"""Of the blocks, which nobody else asks for."""

_LAYOUT: Final = BlockLayout("doctor", num_blocks=8, runs=4, run_bytes=16 << 10)


def find_gpu() -> Device:
    """The first GPU; raises ``ConfigError`` without a GPU or cupy."""
    from pegaflow.bench.cuda import CudaDevice

    return CudaDevice()


def check(
    status: Status, evict: Callable[[str], object], gpu: Callable[[], Device] = find_gpu
) -> Iterator[Finding]:
    """Host memory and, where the daemon has a GPU, its memory over CUDA IPC.

    ``evict`` is called with the namespace of the blocks afterwards.
    """
    yield _try(status.socket, "host memory", HostDevice())
    if status.gpus.state == "ready":
        try:
            device = gpu()
        except ConfigError as error:
            text = "CUDA IPC was not tried"
            yield Finding("round trip", "note", text, str(error).partition("; ")[0])
        else:
            yield _try(status.socket, f"{device.name} over CUDA IPC", device)
    evict(NAMESPACE.hex())


def _try(socket: str, name: str, device: Device) -> Finding:
    began = time.monotonic()
    try:
        engine = BenchEngine(socket, device, _LAYOUT, namespace=NAMESPACE)
        try:
            size = engine.check()
        finally:
            engine.close()
    except (PegaflowError, AssertionError) as error:
        remedy = "see the daemon's log; the findings about ptrace and GPUs may be the reason"
        text = f"{name}: bytes do not come back through the daemon"
        return Finding("round trip", "problem", text, str(error), remedy)
    took = (time.monotonic() - began) * 1000
    evidence = f"{format_size(size)} of random bytes in {_LAYOUT.num_blocks} blocks, {took:.0f} ms"
    text = f"{name}: saved, looked up, loaded and compared"
    return Finding("round trip", "ok", text, evidence)
