"""The GPUs in ``pegaflow status``."""

from collections.abc import Iterator

from pegaflow.gpu_models import Gpu, Gpus
from pegaflow.units import format_count, format_size


def gpu_lines(gpus: Gpus) -> Iterator[str]:
    """The GPUs, what the daemon takes of each, and how the memory of engines on it is copied."""
    if gpus.state != "ready":
        yield gpus.state if gpus.reason is None else f"none: {gpus.reason}"
        return
    yield f"{format_size(gpus.pinned_bytes)} of the pool pinned"
    for device in gpus.devices:
        yield from _device(device)


def _device(device: Gpu) -> Iterator[str]:
    own = device.own_bytes
    taken = "" if own is None else f", {format_size(own)} of its memory taken by the daemon"
    yield f"{device.name}, {device.uuid}{taken}"
    if device.is_shared_by_mps:
        yield "shared through MPS: copies may outlive a killed daemon; end MPS"
    for engine in device.engines:
        block = f"{format_size(engine.page_bytes)} a block in {format_count(engine.runs, 'run')}"
        yield f"pid {engine.pid}: {block}, {engine.way}"
