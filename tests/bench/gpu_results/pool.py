"""A daemon with a large pool: its first answer, and how fast all of it is pinned."""

import ctypes
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pegaflow.bench.daemon import BenchDaemon
from pegaflow.bench.figures import Say, rate
from pegaflow.bench.requirement import required
from pegaflow.errors import PegaflowError
from tests.bench.gpu_results.result import Result, survived

POOL_BYTES: Final = 64 << 30
_PART_BYTES: Final = 4 << 30
"""Of the yardstick; the pool is this many times larger, and rates do not depend on it."""

_SHARED_MEMORY: Final = Path("/dev/shm")
_HUGE_PAGES: Final = Path("/proc/sys/vm/nr_hugepages")
_HUGE_BYTES: Final = 2 << 20
_SPARE_PAGES: Final = 64
_POPULATE_WRITE: Final = 23
_SHARE: Final = 80.0


def rows(say: Say) -> Iterator[Result]:
    """On /dev/shm, and on hugetlbfs where this user may make huge pages."""
    yield from survived("a pool of 64 GiB on tmpfs", _measured("tmpfs", _SHARED_MEMORY, say))
    yield from survived("a pool of 64 GiB on hugetlbfs", _on_huge_pages(say))


def _on_huge_pages(say: Say) -> Iterator[Result]:
    with _huge_pages((POOL_BYTES + _PART_BYTES) // _HUGE_BYTES + _SPARE_PAGES) as directory:
        yield from _measured("hugetlbfs", directory, say)


def _measured(kind: str, directory: Path, say: Say) -> Iterator[Result]:
    say(f"touching and registering {_PART_BYTES >> 30} GiB on {kind}")
    touched_s, registered_s = _yardstick(directory)
    alone = rate(_PART_BYTES, touched_s + registered_s)
    say(f"a pool of {POOL_BYTES >> 30} GiB on {kind}")
    daemon = BenchDaemon(POOL_BYTES, [f"--pool-dir={directory}"])
    try:
        began = time.monotonic()
        first_s = daemon.start()
        daemon.wait_ready()
        pinned_s = time.monotonic() - began
        if daemon.status().gpus.state != "ready":
            raise PegaflowError(f"the daemon has no GPU: {daemon.status().gpus.reason}")
    finally:
        daemon.close()
    what = f"daemon with a new pool of 64 GiB on {kind}"
    yield Result(f"{what}: first answer", round(first_s, 2), "s", 1.5, "most", "from its start")
    pinned = rate(POOL_BYTES, pinned_s)
    how = (
        f"{pinned} GB/s ({pinned_s:.1f} s from its start); {_PART_BYTES >> 30} GiB touched by "
        f"{os.cpu_count()} threads at {rate(_PART_BYTES, touched_s)} GB/s, then registered at "
        f"{rate(_PART_BYTES, registered_s)} GB/s: {alone} GB/s"
    )
    part = round(100 * pinned / alone, 1)
    yield Result(
        f"{what}: whole pool pinned", part, "% of touching, then registering", _SHARE, "least", how
    )


def _yardstick(directory: Path) -> tuple[float, float]:
    """Seconds of touching a new file with all processors, and of registering it."""
    runtime = required("cupy").cuda.runtime
    runtime.free(0)
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        file.truncate(_PART_BYTES)
        address = _map(file.fileno())
        touched_s = _touch(address)
        began = time.perf_counter()
        runtime.hostRegister(address, _PART_BYTES, 0)
        registered_s = time.perf_counter() - began
        runtime.hostUnregister(address)
        _libc().munmap(ctypes.c_void_p(address), ctypes.c_size_t(_PART_BYTES))
    return touched_s, registered_s


def _touch(address: int) -> float:
    threads = os.cpu_count() or 1
    share = _PART_BYTES // threads // _HUGE_BYTES * _HUGE_BYTES

    def touch(start: int, size: int) -> None:
        code = _libc().madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _POPULATE_WRITE)
        if code != 0:
            failures.append(ctypes.get_errno())

    failures: list[int] = []
    sizes = [share] * (threads - 1) + [_PART_BYTES - share * (threads - 1)]
    workers = [
        threading.Thread(target=touch, args=(address + number * share, size))
        for number, size in enumerate(sizes)
    ]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise OSError(failures[0], os.strerror(failures[0]))
    return time.perf_counter() - began


def _map(descriptor: int) -> int:
    """By libc: Python's own mapping touches a file that it is to enlarge."""
    mmap = _libc().mmap
    mmap.restype = ctypes.c_void_p
    length = ctypes.c_size_t(_PART_BYTES)
    address = mmap(None, length, 3, 1, descriptor, ctypes.c_long(0))
    if address is None or address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "the yardstick's file cannot be mapped")
    return int(address)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@contextmanager
def _huge_pages(count: int) -> Iterator[Path]:
    """A hugetlbfs with so many pages of 2 MiB; the system has as many as before afterwards."""
    if os.geteuid() != 0:
        raise PegaflowError("making huge pages needs root")
    before = _HUGE_PAGES.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="pegaflow-huge-") as directory:
        try:
            _HUGE_PAGES.write_text(str(count), encoding="utf-8")
            found = int(_HUGE_PAGES.read_text(encoding="utf-8"))
            if found < count:
                raise PegaflowError(f"the system has room for {found} of {count} huge pages")
            subprocess.run(["mount", "-t", "hugetlbfs", "none", directory], check=True)
            try:
                yield Path(directory)
            finally:
                subprocess.run(["umount", directory], check=True)
        finally:
            _HUGE_PAGES.write_text(before, encoding="utf-8")
