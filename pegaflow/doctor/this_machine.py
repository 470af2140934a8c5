"""The machine that this process is on."""

import ctypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pegaflow.doctor.machine import Machine, Space

_SETUP: Final = 425
"""The number of io_uring_setup, the same on all machines since Linux 5.1."""

_ENTRIES: Final = 8
_PARAMETERS_BYTES: Final = 120


def this_machine(environ: Mapping[str, str]) -> Machine:
    """This machine, for a process with this environment."""
    return Machine(Path("/"), environ, space, try_ring, rdma_devices)


def space(path: Path) -> Space:
    """What the file system at ``path`` has."""
    found = os.statvfs(path)
    return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def try_ring() -> int:
    """Make a ring of io_uring, and let go of it: the number of the error, 0 for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(_PARAMETERS_BYTES)
    descriptor = libc.syscall(_SETUP, _ENTRIES, parameters)
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def rdma_devices() -> Sequence[str]:
    """The names of all RDMA adapters; raises ``ImportError`` without pyverbs."""
    from pyverbs import device
    from pyverbs.pyverbs_error import PyverbsError

    try:
        return [found.name.decode() for found in device.get_device_list()]
    except PyverbsError:
        # What it says on a machine without any.
        return []
