"""NVIDIA's driver and GPUs, and how the daemon copies on them."""

import re
from collections.abc import Iterator
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.gpu_models import Gpu, Gpus
from pegaflow.units import format_size

_DRIVER: Final = "/proc/driver/nvidia"
_OLDEST: Final = 525
"""The first driver for CUDA 12.0."""

_BATCHES: Final = 570
"""The first driver with batch copies (CUDA 12.8)."""


def check(machine: Machine, gpus: Gpus | None) -> Iterator[Finding]:
    """The driver, and ``gpus`` as the daemon has them; None without a daemon."""
    said = machine.read(f"{_DRIVER}/version")
    if said is None:
        evidence = f"{_DRIVER}/version is not there"
        text = "there is no NVIDIA driver; engines on the CPU are cached all the same"
        yield Finding("gpu", "note", text, evidence)
        return
    yield _driver(machine, said.splitlines()[0])
    if gpus is not None:
        yield from _of_daemon(gpus)


def _driver(machine: Machine, said: str) -> Finding:
    found = re.search(r"\s(\d{3,})\.[\d.]+\s", said + " ")
    models = [
        re.sub(r"(?s).*?^Model:\s*([^\n]*).*", r"\1", information, flags=re.MULTILINE)
        for name in machine.names(f"{_DRIVER}/gpus")
        if (information := machine.read(f"{_DRIVER}/gpus/{name}/information"))
    ]
    evidence = f"{_DRIVER}/version: {said}; GPUs: {', '.join(models) or 'none'}"
    if found is None:
        return Finding("gpu", "note", "the driver's version is not known", evidence)
    version = int(found[1])
    if version < _OLDEST:
        text = f"driver {version} is older than {_OLDEST}, the first for CUDA 12"
        return Finding("gpu", "problem", text, evidence, f"install driver {_BATCHES} or newer")
    if version < _BATCHES:
        text = f"driver {version} has no batch copies: layouts of small runs copy more slowly"
        return Finding("gpu", "note", text, evidence, f"install driver {_BATCHES} or newer")
    return Finding("gpu", "ok", f"driver {version} has what is needed", evidence)


def _of_daemon(gpus: Gpus) -> Iterator[Finding]:
    if gpus.state != "ready":
        evidence = f"the daemon's GPUs are {gpus.state}: {gpus.reason or 'no reason is given'}"
        level = gpus.state == "starting"
        yield Finding(
            "gpu",
            "note" if level else "problem",
            "the daemon has no GPU yet" if level else "the daemon uses no GPU",
            evidence,
            None if level else "see `nvidia-smi`, and restart the daemon where it works",
        )
        return
    for device in gpus.devices:
        yield _device(device, gpus.pinned_bytes)


def _device(device: Gpu, pinned_bytes: int) -> Finding:
    own = device.own_bytes
    evidence = "".join(
        [
            f"{device.uuid}, {format_size(pinned_bytes)} of the pool pinned",
            "" if own is None else f"; {format_size(own)} of its memory taken by the daemon",
            *(f"; engine {engine.pid} copies {engine.way}" for engine in device.engines),
        ]
    )
    if device.is_shared_by_mps:
        text = f"{device.name} is shared through MPS: copies may outlive a killed daemon"
        remedy = (
            "end MPS with `echo quit | nvidia-cuda-mps-control`, then start the daemon and the "
            "engines again: under MPS a killed daemon's last copies may land in blocks in use"
        )
        return Finding("gpu", "problem", text, evidence, remedy)
    return Finding("gpu", "ok", f"the daemon uses {device.name}", evidence)
