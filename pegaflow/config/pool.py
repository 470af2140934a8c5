"""The size of a pool that is to be found automatically."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegaflow.errors import ConfigError
from pegaflow.units import format_size

MEMORY_SHARE: Final = 0.5
"""The share of free memory that an automatic pool takes."""

DIRECTORY_SHARE: Final = 0.9
"""The share of the pool directory's free space that an automatic pool takes at most."""

LEAST_SHARED: Final = 0.5
"""The part of the wanted size that /dev/shm must hold; with less, as in a container with its
default of 64 MiB, a pool that ends with its daemon is worth more than a small one that does not."""

AUTO_RULE: Final = (
    f"{MEMORY_SHARE:.0%} of free memory (of the control group's, where that is less), "
    f"at most {DIRECTORY_SHARE:.0%} of what is free in the pool's directory or /dev/shm; where "
    f"/dev/shm holds less than {LEAST_SHARED:.0%} of that, it is memory that ends with the daemon"
)
"""The rule in words, for help and documentation."""

_GRAIN: Final = 2 << 20


@dataclass(frozen=True)
class AutoPool:
    """An automatic pool's size in bytes, and the sentence that says where it comes from."""

    size: int
    reason: str


def free_space(directory: Path) -> int:
    """Free bytes of the file system that a pool's directory is on."""
    try:
        space = os.statvfs(directory)
    except OSError as error:
        raise ConfigError(
            f"the pool's directory {directory} cannot be used: {error.strerror}; "
            "give another with --pool-dir"
        ) from error
    return space.f_bavail * space.f_frsize


def auto_pool(
    pool_dir: str | None,
    *,
    proc: Path = Path("/proc"),
    cgroup: Path | None = None,
    shared_memory: Path = Path("/dev/shm"),
    space: Callable[[Path], int] = free_space,
) -> AutoPool:
    """The pool that ``AUTO_RULE`` gives now; tests bring a machine of their own."""
    free = _free_memory(proc, cgroup or _own_cgroup(proc))
    directory = Path(pool_dir) if pool_dir else shared_memory
    room = space(directory) if pool_dir or directory.exists() else 0
    by_memory, by_room = int(free * MEMORY_SHARE), int(room * DIRECTORY_SHARE)
    if by_memory <= by_room or (not pool_dir and by_room < by_memory * LEAST_SHARED):
        size, reason = by_memory, f"{MEMORY_SHARE:.0%} of {format_size(free)} of free memory"
    else:
        size, reason = by_room, f"{DIRECTORY_SHARE:.0%} of {format_size(room)} free in {directory}"
    size -= size % _GRAIN
    if size == 0:
        raise ConfigError(
            f"pool_size = auto finds no room: {reason}; free some, or set a size such as 1GiB"
        )
    return AutoPool(size, reason)


def _free_memory(proc: Path, cgroup: Path) -> int:
    meminfo = (proc / "meminfo").read_text(encoding="utf-8")
    available = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    free = int(available.split()[1]) * 1024
    for group in (cgroup, *cgroup.parents):
        limit, current = _read_number(group / "memory.max"), _read_number(group / "memory.current")
        if limit is not None and current is not None:
            # As with the machine's: what was read from files and is not in use can be had.
            free = min(free, max(limit - current + _unused_cache(group), 0))
    return free


def _unused_cache(group: Path) -> int:
    try:
        lines = (group / "memory.stat").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    fields = (line.split() for line in lines)
    return next((int(field[1]) for field in fields if field[0] == "inactive_file"), 0)


def _own_cgroup(proc: Path) -> Path:
    try:
        lines = os.fsdecode((proc / "self/cgroup").read_bytes()).split("\n")
    except OSError:
        lines = []
    path = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "")
    return Path("/sys/fs/cgroup") / path


def _read_number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
