"""io_uring, by which the ssd tier reads and writes."""

import errno
from collections.abc import Iterator
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine

_SWITCH: Final = "/proc/sys/kernel/io_uring_disabled"


def check(machine: Machine) -> Iterator[Finding]:
    """Whether a ring can be made."""
    failed, switch = machine.try_ring(), machine.read(_SWITCH)
    name = errno.errorcode.get(failed, str(failed))
    evidence = (
        f"io_uring_setup {f'fails with {name}' if failed else 'works'}; "
        f"{_SWITCH} is {switch if switch is not None else 'absent'}"
    )
    if not failed:
        yield Finding("io_uring", "ok", "the ssd tier can use it", evidence)
        return
    if failed == errno.ENOSYS:
        remedy = "run a kernel with io_uring (5.6 or newer)"
    elif switch in ("1", "2"):
        remedy = "run `sudo sysctl kernel.io_uring_disabled=0`"
    else:
        remedy = (
            "allow it: a container's default seccomp profile refuses it, another one or "
            "--security-opt seccomp=unconfined does not"
        )
    text = "it is not allowed here: the ssd tier reads and writes with threads, more slowly"
    yield Finding("io_uring", "note", text, evidence, remedy)
