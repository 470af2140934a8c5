"""A machine made of files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pegaflow.doctor.machine import Machine, Space

GIB = 1 << 30
HEALTHY: Mapping[str, str] = {
    "/proc/sys/kernel/osrelease": "6.8.0-40-generic\n",
    "/proc/self/limits": "Limit  Soft Limit  Hard Limit  Units\n"
    "Max locked memory         unlimited            unlimited            bytes     \n",
    "/proc/self/mounts": "tmpfs /dev/shm tmpfs rw,nosuid 0 0\nnone /mnt/huge hugetlbfs rw 0 0\n",
    "/proc/meminfo": "MemTotal:       67108864 kB\nMemAvailable:   33554432 kB\n"
    "HugePages_Total:    1024\nHugePages_Free:      512\nHugepagesize:       2048 kB\n",
    "/proc/sys/kernel/yama/ptrace_scope": "1\n",
    "/proc/sys/kernel/io_uring_disabled": "0\n",
    "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       67108864 kB\n",
    "/mnt/huge/.keep": "",
    "/dev/shm/.keep": "",
}
"""Files of a machine with nothing to say about."""


def machine(
    root: Path,
    changes: Mapping[str, str | None] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    free: int = 32 * GIB,
    ring: int = 0,
    rdma: Sequence[str] | None = None,
) -> Machine:
    """The healthy machine with ``changes``; None takes a file away.

    ``ring`` is the error of io_uring, and no ``rdma`` devices mean that there is no pyverbs.
    """

    def devices() -> Sequence[str]:
        if rdma is None:
            raise ImportError("No module named 'pyverbs'")
        return rdma

    for absolute, text in {**HEALTHY, **(changes or {})}.items():
        if text is not None:
            file = root / absolute.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return Machine(root, environ or {}, lambda path: Space(64 * GIB, free), lambda: ring, devices)
