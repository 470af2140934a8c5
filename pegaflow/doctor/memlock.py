"""The right to lock memory, which GPUs' drivers need to pin the pool."""

from collections.abc import Iterator

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.units import format_size

_REMEDY = (
    "run `ulimit -l unlimited` before `pegaflow serve`, or give its systemd unit "
    "LimitMEMLOCK=infinity, or its container --ulimit memlock=-1"
)


def check(machine: Machine) -> Iterator[Finding]:
    """The limit of this process, which a daemon that is started from here inherits."""
    limit = _limit(machine.read("/proc/self/limits") or "")
    if limit is None:
        evidence = '/proc/self/limits has no number for "Max locked memory"'
        yield Finding("memlock", "ok", "memory may be locked without limit", evidence)
        return
    evidence = f'/proc/self/limits has {limit} bytes for "Max locked memory"'
    size = format_size(limit)
    if machine.has_nvidia():
        text = f"only {size} may be locked, and the pool is to be pinned for the GPUs"
        yield Finding("memlock", "problem", text, evidence, _REMEDY)
    else:
        text = f"{size} may be locked, which is enough without a GPU"
        yield Finding("memlock", "note", text, evidence, _REMEDY)


def _limit(limits: str) -> int | None:
    """The soft limit in bytes; None for none."""
    for line in limits.splitlines():
        if line.startswith("Max locked memory"):
            soft = line.split()[3]
            return int(soft) if soft.isdigit() else None
    return None
