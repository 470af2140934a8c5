"""/dev/shm, where the pool is unless huge pages are reserved for it."""

from collections.abc import Iterator
from typing import Final

from pegaflow.config.pool import LEAST_SHARED, MEMORY_SHARE
from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.doctor.mounts import mounts
from pegaflow.units import format_size

_PLACE: Final = "/dev/shm"


def check(machine: Machine) -> Iterator[Finding]:
    """Whether a pool has room there."""
    kind = next((mount.kind for mount in mounts(machine) if mount.place == _PLACE), None)
    try:
        space = machine.space(machine.path(_PLACE))
    except OSError as error:
        evidence = f"{_PLACE} cannot be looked at: {error.strerror}"
        yield _problem("there is no /dev/shm", evidence, machine.memory("MemTotal"))
        return
    memory = machine.memory("MemAvailable")
    evidence = (
        f"{_PLACE} is {kind or 'no mount of its own'}, {format_size(space.free)} of "
        f"{format_size(space.total)} free; {format_size(memory)} of memory are available"
    )
    if kind != "tmpfs":
        text = f"{_PLACE} is no tmpfs, so no pool can be there"
        yield _problem(text, evidence, machine.memory("MemTotal"))
    elif space.free < memory * MEMORY_SHARE * LEAST_SHARED:
        text = (
            f"{format_size(space.free)} are free in {_PLACE}: a pool of half the free memory "
            "would not fit, and end with its daemon"
        )
        yield _problem(text, evidence, machine.memory("MemTotal"))
    else:
        yield Finding("shm", "ok", f"{format_size(space.free)} are free for a pool", evidence)


def _problem(text: str, evidence: str, total: int) -> Finding:
    gib = max(total >> 31, 1)
    remedy = (
        f"run `sudo mount -o remount,size={gib}g {_PLACE}` (a tmpfs), start a container with "
        f"--shm-size={gib}g or --ipc=host, or free what lies there; or reserve huge pages"
    )
    return Finding("shm", "problem", text, evidence, remedy)
