"""What is mounted where."""

import re
from dataclasses import dataclass

from pegaflow.doctor.machine import Machine


@dataclass(frozen=True)
class Mount:
    """One line of /proc/self/mounts."""

    place: str
    kind: str
    options: tuple[str, ...]


def mounts(machine: Machine) -> list[Mount]:
    """All mounts; of several at one place the last counts, and comes first."""
    found = []
    for line in (machine.read("/proc/self/mounts") or "").splitlines():
        _, place, kind, options, *_ = line.split(" ")
        found.append(Mount(_plain(place), kind, tuple(options.split(","))))
    return found[::-1]


def _plain(place: str) -> str:
    """A place without the octal escapes of spaces and others."""
    return re.sub(r"\\([0-7]{3})", lambda escape: chr(int(escape[1], 8)), place)
