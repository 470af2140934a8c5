"""A simulated engine: both halves of the connector's sessions, over memory of its own."""

import mmap
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pegaflow._native import (
    EngineLayout,
    Lookup,
    SchedulerClient,
    StreamPoint,
    TransferEnd,
    WorkerClient,
)
from pegaflow.bench.content import check_moved, write_fresh
from pegaflow.bench.layout import HASH_BYTES, BlockLayout
from pegaflow.bench.memory import Device, KvMemory
from pegaflow.bench.waiting import wait_until
from pegaflow.errors import PegaflowError, Unreachable
from pegaflow.units import format_count

_ATTACH_S: Final = 30.0
_CALL_S: Final = 60.0
_LOOKUP_S: Final = 0.05
_PAUSE_S: Final = 0.0002

Hashes = Sequence[bytes]


def fresh_hashes(count: int) -> list[bytes]:
    """Block hashes that nobody has used before."""
    return [os.urandom(HASH_BYTES) for _ in range(count)]


class BenchEngine:
    """One scheduler side and one worker; by default no other engine shares its blocks."""

    def __init__(
        self,
        socket: str,
        device: Device,
        layout: BlockLayout,
        *,
        namespace: bytes | None = None,
        memory: KvMemory | None = None,
    ) -> None:
        """Engines of one ``namespace``, of 32 bytes, share blocks; ``memory`` is the device's."""
        self.layout = layout
        self._memory = memory or device.allocate(layout.size)
        self._requests = 0
        key = os.urandom(16)
        # As many characters as `pegaflow top` shows of a name.
        name = f"bench-{key.hex()[:6]}"
        namespace = namespace or os.urandom(32)
        self.scheduler = SchedulerClient(
            socket, key, name, namespace, "random-bytes", workers=1, shards=1
        )
        registration = EngineLayout(layout.registration(self._memory.address, device.kind))
        self.worker = WorkerClient(socket, name, 0, 0, registration)
        self.worker.identify(key, namespace)
        wait_until(self._is_attached, "the simulated engine attaches", _ATTACH_S)

    def lookup(self, hashes: Hashes) -> tuple[str, Lookup]:
        """The request that asked, and the daemon's answer."""
        self._requests += 1
        request, packed = f"request-{self._requests}", b"".join(hashes)
        deadline = time.monotonic() + _CALL_S
        while True:
            answer = self.scheduler.lookup(request, packed, HASH_BYTES, _LOOKUP_S)
            if answer.state == "ready":
                return request, answer
            if time.monotonic() > deadline:
                raise PegaflowError(f"a lookup is {answer.state!r} after {_CALL_S:g} s")

    def lookup_seconds(self, hashes: Hashes) -> float:
        """One lookup; its lease is given back outside of the time."""
        began = time.perf_counter()
        request, _ = self.lookup(hashes)
        seconds = time.perf_counter() - began
        self.scheduler.forget(request)
        return seconds

    def start_save(self, hashes: Hashes, blocks: Sequence[int]) -> int:
        """Begin to save ``blocks``: the transfer."""
        self._requests += 1
        request = f"request-{self._requests}"
        transfer = self.worker.save(request, b"".join(hashes), blocks, self._mark())
        if transfer is None:
            raise Unreachable("the simulated engine has lost its daemon")
        return transfer

    def start_load(self, hashes: Hashes, blocks: Sequence[int]) -> int:
        """Look ``hashes`` up, which must all be cached, and begin to load them: the transfer."""
        request, answer = self.lookup(hashes)
        lease = self.scheduler.take(request)
        if lease is None or answer.memory_blocks != len(hashes):
            raise PegaflowError(
                f"of {len(hashes)} blocks just saved {answer.memory_blocks} are cached; measure "
                "with fewer blocks or a larger pool"
            )
        return self.worker.load(request, *lease, 0, blocks, self._mark())

    def save(self, hashes: Hashes, blocks: Sequence[int]) -> TransferEnd:
        """Save ``blocks`` and wait for the end, without taking processor time meanwhile."""
        return self.wait(self.start_save(hashes, blocks))

    def load(self, hashes: Hashes, blocks: Sequence[int]) -> TransferEnd:
        """Load the cached ``hashes`` into ``blocks`` and wait for the end."""
        return self.wait(self.start_load(hashes, blocks))

    def soonest_load(self, hashes: Hashes, blocks: Sequence[int]) -> tuple[float, float]:
        """Seconds of the lookup and of the load; the end is looked for all the time."""
        began = time.perf_counter()
        request, _ = self.lookup(hashes)
        looked_up = time.perf_counter()
        lease = self.scheduler.take(request)
        assert lease is not None, "nothing is cached"
        self._end(self.worker.load(request, *lease, 0, blocks, self._mark()), 0.0)
        return looked_up - began, time.perf_counter() - looked_up

    def check(self) -> int:
        """Save fresh random bytes, load them into other blocks, compare all: the bytes checked."""
        layout, count = self.layout, self.layout.num_blocks
        with mmap.mmap(-1, layout.size) as before, mmap.mmap(-1, layout.size) as after:
            write_fresh(layout, before)
            self._memory.upload(before)
            hashes = fresh_hashes(count)
            self.save(hashes, range(count))
            self._memory.upload(after)
            self.load(hashes, range(count)[::-1])
            self._memory.download(after)
            check_moved(layout, before, after, {count - 1 - block: block for block in range(count)})
        return layout.size

    def wait(self, transfer: int) -> TransferEnd:
        """Wait for the end of the only transfer, without taking processor time meanwhile."""
        return self._end(transfer, _PAUSE_S)

    def poll(self) -> list[TransferEnd]:
        """Transfers that ended; raises for one that failed, ``Unreachable`` without an answer."""
        ended = self.worker.poll()
        for end in ended:
            if not end.ok:
                blocks = format_count(end.blocks, "block")
                kind = Unreachable if end.lost else PegaflowError
                raise kind(f"a {end.kind} of {blocks} failed: {end.message}")
        return ended

    def close(self) -> None:
        """Leave the daemon and give the memory back."""
        self.worker.close()
        self.scheduler.close()
        self._memory.free()

    def _end(self, transfer: int, pause_s: float) -> TransferEnd:
        deadline = time.monotonic() + _CALL_S
        while not (ended := self.poll()):
            if time.monotonic() > deadline:
                raise PegaflowError(f"a transfer has not ended within {_CALL_S:g} s")
            if pause_s:
                time.sleep(pause_s)
            else:
                # The daemon may need the same core.
                os.sched_yield()
        (end,) = ended
        assert end.transfer_id == transfer
        return end

    def _mark(self) -> StreamPoint | None:
        return self.worker.mark(self._memory.stream)

    def _is_attached(self) -> bool:
        if reason := self.worker.last_error():
            raise PegaflowError(f"the daemon refuses the simulated engine: {reason}")
        return self.scheduler.attached() and self.worker.attached()


@contextmanager
def attached(socket: str, device: Device, layout: BlockLayout) -> Iterator[BenchEngine]:
    """An engine that has found its daemon; it leaves afterwards."""
    engine = BenchEngine(socket, device, layout)
    try:
        yield engine
    finally:
        engine.close()
