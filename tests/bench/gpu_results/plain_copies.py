"""Copies of pinned memory by another process, and nothing else: what they cost a model at least.

``python -m tests.bench.gpu_results.plain_copies load|save|both`` copies until its input ends, and
prints GB/s.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pegaflow.bench.requirement import required

BYTES: Final = 32 << 20
"""Of one copy, as of one call of the daemon."""

_WAIT_S: Final = 60.0
_TO_DEVICE: Final = 1
_TO_HOST: Final = 2
_KINDS: Final = {"load": (_TO_DEVICE,), "save": (_TO_HOST,), "both": (_TO_DEVICE, _TO_HOST)}


class PlainCopies:
    """The other process; ``gb_s`` is known once it has ended."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.gb_s = 0.0
        kind = "both" if len(kinds) > 1 else kinds[0]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.gpu_results.plain_copies", kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "copying\n"

    def end(self) -> None:
        """Have it end, and take its figure."""
        said, _ = self._process.communicate(timeout=_WAIT_S)
        self.gb_s = float(said)


@contextmanager
def running(kinds: Sequence[str]) -> Iterator[PlainCopies]:
    """Copies under way all the time."""
    copies = PlainCopies(kinds)
    try:
        yield copies
    finally:
        copies.end()


def _copy(directions: Sequence[int], ends: threading.Event) -> float:
    """GB/s until the end is set; of each direction, two copies are under way at any time."""
    cupy = required("cupy")
    runtime = cupy.cuda.runtime
    host = cupy.cuda.alloc_pinned_memory(2 * BYTES)
    device = cupy.cuda.Memory(2 * BYTES)
    streams = {
        direction: [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        for direction in directions
    }
    print("copying", flush=True)
    began, copied, turn = time.perf_counter(), 0, 0
    while not ends.is_set():
        for direction, pair in streams.items():
            pair[turn].synchronize()
            offset = BYTES * directions.index(direction)
            pointers = (device.ptr + offset, host.ptr + offset)
            target, source = pointers if direction == _TO_DEVICE else reversed(pointers)
            runtime.memcpyAsync(target, source, BYTES, direction, pair[turn].ptr)
            copied += BYTES
        turn = 1 - turn
    cupy.cuda.Device().synchronize()
    return copied / (time.perf_counter() - began) / 1e9


def _main() -> None:
    ends = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ends.set()

    threading.Thread(target=wait, daemon=True).start()
    print(round(_copy(_KINDS[sys.argv[1]], ends), 2))


if __name__ == "__main__":
    _main()
