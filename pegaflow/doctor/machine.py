"""The machine that is looked at; tests bring one of their own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Space(NamedTuple):
    """Bytes of a file system."""

    total: int
    free: int


@dataclass(frozen=True)
class Machine:
    """Files of the kernel under ``root``, and what only calls can tell.

    Nothing has a default, so that no stand-in asks the real machine about a part of itself.
    """

    root: Path
    environ: Mapping[str, str]
    space: Callable[[Path], Space]
    """Raises ``OSError`` where there is no file system."""
    try_ring: Callable[[], int]
    """Makes a ring of io_uring, and lets go of it: the number of the error, 0 for none."""
    rdma_devices: Callable[[], Sequence[str]]
    """The names of all RDMA adapters; raises ``ImportError`` without pyverbs."""

    def path(self, absolute: str) -> Path:
        """Where the file with this path is."""
        return self.root / absolute.lstrip("/")

    def read(self, absolute: str) -> str | None:
        """The file's text without the last line's end; None where it cannot be read."""
        try:
            return self.path(absolute).read_text(encoding="utf-8", errors="replace").rstrip("\n")
        except OSError:
            return None

    def names(self, absolute: str) -> list[str]:
        """The names in a directory, in order; none where there is no such directory."""
        try:
            return sorted(entry.name for entry in self.path(absolute).iterdir())
        except OSError:
            return []

    def memory(self, name: str) -> int:
        """A field of /proc/meminfo in bytes, or its plain number; 0 where it is missing."""
        for line in (self.read("/proc/meminfo") or "").splitlines():
            found, _, value = line.partition(":")
            if found == name:
                number, *unit = value.split()
                return int(number) * (1024 if unit else 1)
        return 0

    def has_nvidia(self) -> bool:
        """Whether NVIDIA's driver is loaded."""
        return self.path("/proc/driver/nvidia/version").exists()
