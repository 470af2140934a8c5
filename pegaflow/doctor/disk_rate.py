"""How fast a disk is, measured for a bounded time with a file that has no name."""

import fcntl
import mmap
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20
_CHUNKS: Final = 256
_DEPTH: Final = 4
"""Transfers at one time."""

_SECONDS: Final = 1.0
"""For writing, and once more for reading."""


@dataclass(frozen=True)
class DiskRate:
    """What was measured."""

    direct: bool
    """Whether the bytes bypassed the kernel's cache."""
    bytes: int
    """Written and read."""
    write_bytes_s: int
    read_bytes_s: int


def measure(directory: Path) -> DiskRate:
    """Write up to 256 MiB of random bytes to ``directory`` and read them, about 1 s each.

    Raises ``OSError`` where that fails.
    """
    descriptor, name = tempfile.mkstemp(dir=directory, prefix=".pegaflow-doctor-")
    try:
        Path(name).unlink()
        direct = _bypass_cache(descriptor)
        content = mmap.mmap(-1, _CHUNK)
        content[:] = os.urandom(_CHUNK)
        written, write_s = _timed(lambda at: os.pwrite(descriptor, content, at), _CHUNKS)
        os.fdatasync(descriptor)
        read, read_s = _timed(lambda at: _read(descriptor, at), written)
    finally:
        os.close(descriptor)
    return DiskRate(
        direct, written * _CHUNK, int(written * _CHUNK / write_s), int(read * _CHUNK / read_s)
    )


def _bypass_cache(descriptor: int) -> bool:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_DIRECT)
    except OSError:
        return False
    return True


def _read(descriptor: int, at: int) -> int:
    # Anonymous memory begins at a page, as O_DIRECT wants it.
    with mmap.mmap(-1, _CHUNK) as content:
        return os.preadv(descriptor, [content], at)


def _timed(transfer: Callable[[int], int], chunks: int) -> tuple[int, float]:
    """Transfers of up to ``chunks`` chunks in order: how many were done, and the seconds."""
    began = time.monotonic()

    def one(chunk: int) -> bool:
        if chunk and time.monotonic() - began > _SECONDS:
            return False
        moved = transfer(chunk * _CHUNK)
        if moved != _CHUNK:
            raise OSError(0, f"{moved} of {_CHUNK} bytes were moved")
        return True

    with ThreadPoolExecutor(_DEPTH) as threads:
        done = list(threads.map(one, range(chunks)))
    # What came after the first that was left out may be missing in the file.
    whole = done.index(False) if False in done else chunks
    return whole, max(time.monotonic() - began, 1e-6)
