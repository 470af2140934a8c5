"""An engine's KV memory without an engine, and what copies to and from it can reach."""

import ctypes
import mmap
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pegaflow.bench.figures import rate

_ROUNDS: Final = 5
_THREADS: Final = 2
"""As many as the daemon copies with unless it is told otherwise."""


@dataclass(frozen=True)
class Limit:
    """GB/s of one large copy of 1 GiB: the best of some."""

    load: float
    save: float
    duplex: float
    """Both at once, together."""
    how: str


class KvMemory(Protocol):
    """The memory of one engine."""

    address: int
    stream: int
    """The CUDA stream that transfers wait for; 0 on the host."""

    def upload(self, mirror: mmap.mmap) -> None:
        """Put bytes of the host there."""

    def download(self, mirror: mmap.mmap) -> None:
        """Get all bytes from there."""

    def free(self) -> None:
        """Give it back."""


class Device(Protocol):
    """Where engines' memory is."""

    kind: str
    """``host`` or ``cuda``, as registrations have it."""
    name: str

    def allocate(self, size: int) -> KvMemory:
        """Memory for an engine's blocks."""

    def limit(self) -> Limit:
        """What one large copy reaches."""

    def copy_seconds(self, size: int, rounds: int) -> list[float]:
        """Of copies of ``size`` bytes into engine memory, each waited for."""

    def batch_rates(self, run_bytes: int) -> dict[str, float] | None:
        """GB/s of the driver's batch call for runs of so many bytes; None where there is none."""


class HostMemory:
    """Anonymous pages."""

    stream = 0

    def __init__(self, size: int) -> None:
        self._bytes = mmap.mmap(-1, size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._bytes))

    def upload(self, mirror: mmap.mmap) -> None:
        """Put bytes there."""
        self._bytes[:] = mirror[:]

    def download(self, mirror: mmap.mmap) -> None:
        """Get all bytes."""
        mirror[:] = self._bytes[:]

    def write(self, at: int, content: bytes) -> None:
        """Put these bytes there."""
        self._bytes[at : at + len(content)] = content

    def read(self, at: int, size: int) -> bytes:
        """Bytes of there."""
        return self._bytes[at : at + size]

    def free(self) -> None:
        """Give it back."""
        self._bytes.close()


class HostDevice:
    """Engines without a GPU; the limit is memcpy."""

    kind = "host"
    name = "cpu"
    _SIZE: Final = 128 << 20

    def allocate(self, size: int) -> HostMemory:
        """Memory for an engine's blocks."""
        return HostMemory(size)

    def limit(self) -> Limit:
        """Memcpy with as many threads as the daemon has."""
        alone, both = (self._best_seconds(threads) for threads in (_THREADS, 2 * _THREADS))
        one_way = rate(self._SIZE, alone)
        how = f"memcpy of {self._SIZE >> 20} MiB with {_THREADS} threads, twice as many for both"
        return Limit(one_way, one_way, rate(self._SIZE, both), how)

    def copy_seconds(self, size: int, rounds: int) -> list[float]:
        """Of single memcpys."""
        copy = _copy_of(HostMemory(size), HostMemory(size), size)
        # The first one finds no pages yet.
        copy()
        laps = []
        for _ in range(rounds):
            began = time.perf_counter()
            copy()
            laps.append(time.perf_counter() - began)
        return laps

    def batch_rates(self, run_bytes: int) -> None:
        """There is no such call."""

    def _best_seconds(self, threads: int) -> float:
        """Of copies side by side that are ``_SIZE`` together; the first finds no pages yet."""
        share = self._SIZE // threads
        pairs = [(HostMemory(share), HostMemory(share)) for _ in range(threads)]
        lanes = [_copy_of(target, source, share) for source, target in pairs]
        return min(_side_by_side(lanes) for _ in range(1 + _ROUNDS))


def _copy_of(target: HostMemory, source: HostMemory, size: int) -> Callable[[], None]:
    def copy() -> None:
        # Releases the interpreter's lock.
        ctypes.memmove(target.address, source.address, size)

    return copy


def _side_by_side(lanes: Sequence[Callable[[], None]]) -> float:
    """Seconds until all have ended."""
    threads = [threading.Thread(target=lane) for lane in lanes]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began
