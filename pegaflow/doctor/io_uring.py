"""io_uring, by which the ssd tier reads and writes."""

import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine

_SWITCH: Final = "/proc/sys/kernel/io_uring_disabled"
_SETUP: Final = 425
"""The number of the call, the same on all machines since Linux 5.1."""

_ENTRIES: Final = 8
_PARAMETERS_BYTES: Final = 120


def try_ring() -> int:
    """Make a ring, and let go of it: the number of the error, 0 for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(_PARAMETERS_BYTES)
    descriptor = libc.syscall(_SETUP, _ENTRIES, parameters)
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def check(machine: Machine, make: Callable[[], int] = try_ring) -> Iterator[Finding]:
    """Whether a ring can be made."""
    failed, switch = make(), machine.read(_SWITCH)
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
