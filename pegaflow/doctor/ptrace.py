"""Who may reach another process's memory, as the daemon does with engines on the CPU."""

import re
from collections.abc import Iterator
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine

_SCOPE: Final = "/proc/sys/kernel/yama/ptrace_scope"
_SYS_PTRACE: Final = 19
"""The capability's number."""


def check(machine: Machine) -> Iterator[Finding]:
    """What Yama allows."""
    scope = machine.read(_SCOPE)
    evidence = f"{_SCOPE} is {scope if scope is not None else 'absent'}"
    if scope in (None, "0", "1"):
        text = "the daemon may reach engines that allow it"
        yield Finding("ptrace", "ok", text, evidence)
        return
    if scope == "2" and _may_trace(machine):
        text = "this process may reach any other's memory, and so may a daemon that it starts"
        yield Finding("ptrace", "ok", text, f"{evidence}, and CapEff has CAP_SYS_PTRACE")
        return
    remedy = "run `sudo sysctl kernel.yama.ptrace_scope=1`"
    if scope == "2":
        text = "the daemon needs CAP_SYS_PTRACE to reach engines on the CPU"
        remedy += ", or give the daemon the capability (a container: --cap-add=SYS_PTRACE)"
    else:
        text = "no process may reach another's memory, so engines on the CPU cannot be cached"
        remedy += " in /etc/sysctl.d/ and boot again: 3 cannot be taken back before"
    yield Finding("ptrace", "problem", text, evidence, remedy)


def _may_trace(machine: Machine) -> bool:
    found = re.search(r"^CapEff:\s+(\w+)", machine.read("/proc/self/status") or "", re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> _SYS_PTRACE & 1)
