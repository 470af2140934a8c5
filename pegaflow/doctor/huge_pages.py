"""Huge pages, on which a pool is there, and pinned, about twice as soon."""

import os
import shlex
from collections.abc import Iterator
from typing import Final

from pegaflow.config.pool import MEMORY_SHARE
from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.doctor.mounts import mounts
from pegaflow.units import format_size

_PLACE: Final = "/mnt/huge"
_MOUNT: Final = (
    f"sudo mkdir -p {_PLACE} && sudo mount -t hugetlbfs -o uid=$USER,mode=0700 none {_PLACE}"
)


def check(machine: Machine) -> Iterator[Finding]:
    """Whether some are reserved, and can be used."""
    size = machine.memory("Hugepagesize")
    total, free = machine.memory("HugePages_Total"), machine.memory("HugePages_Free")
    places = [mount.place for mount in mounts(machine) if mount.kind == "hugetlbfs"]
    usable = [place for place in places if os.access(machine.path(place), os.W_OK)]
    evidence = (
        f"/proc/meminfo has {total} huge pages of {format_size(size)}, {free} free; hugetlbfs is "
        f"mounted at {', '.join(places) or 'no place'}"
    )
    if not size:
        text = "this kernel has no huge pages; the pool goes to /dev/shm"
        yield Finding("huge pages", "note", text, evidence)
    elif not total:
        pages = int(machine.memory("MemAvailable") * MEMORY_SHARE) // size
        text = "none are reserved; a pool on them would be there about twice as soon"
        yield Finding("huge pages", "note", text, evidence, _reserving(pages, usable))
    elif not usable:
        text = f"{format_size(total * size)} are reserved, and no pool can use them"
        remedy = f"run `{_MOUNT}`, and start the daemon with --pool-dir {_PLACE}"
        yield Finding("huge pages", "problem", text, evidence, remedy)
    else:
        text = f"{format_size(free * size)} of {format_size(total * size)} are free"
        yield Finding("huge pages", "ok", text, evidence)


def _reserving(pages: int, usable: list[str]) -> str:
    """The commands that set hugetlbfs up for half of the free memory."""
    place = usable[0] if usable else _PLACE
    steps = [
        f"sudo sysctl vm.nr_hugepages={pages}",
        *([] if usable else [_MOUNT]),
        f"pegaflow serve --pool-dir {shlex.quote(place)}",
    ]
    commands = "; ".join(f"`{step}`" for step in steps)
    return f"{commands}; to keep it, a line vm.nr_hugepages={pages} in /etc/sysctl.d/pegaflow.conf"
