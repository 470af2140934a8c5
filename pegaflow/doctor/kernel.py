"""The kernel: the calls that the daemon cannot do without."""

import re
from collections.abc import Iterator
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine

_OLDEST: Final = (5, 3)
"""The first with pidfd_open, by which the daemon knows that an engine has ended."""


def check(machine: Machine) -> Iterator[Finding]:
    """Whether it is new enough."""
    release = machine.read("/proc/sys/kernel/osrelease") or "unknown"
    evidence = f"/proc/sys/kernel/osrelease is {release}"
    version = re.match(r"(\d+)\.(\d+)", release)
    oldest = ".".join(map(str, _OLDEST))
    if version is None:
        yield Finding("kernel", "note", "the kernel's version is not known", evidence)
    elif (int(version[1]), int(version[2])) < _OLDEST:
        text = f"Linux {release} is older than {oldest}, the first with pidfd_open"
        yield Finding("kernel", "problem", text, evidence, f"run Linux {oldest} or newer")
    else:
        yield Finding("kernel", "ok", f"Linux {release} has what is needed", evidence)
