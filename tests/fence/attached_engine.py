"""Both halves of a connector in this process, attached to a daemon."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pegaflow._native import (
    EngineLayout,
    Lookup,
    SchedulerClient,
    StreamPoint,
    TransferEnd,
    WorkerClient,
)
from tests.engine.closing import Closing
from tests.engine.waiting import wait_until
from tests.fence.engine_memory import HASH_BYTES, EngineMemory

_ATTACH_S: Final = 10.0
_CALL_S: Final = 10.0


def fresh_hashes(count: int) -> list[bytes]:
    """Block hashes that nobody has used before."""
    return [os.urandom(HASH_BYTES) for _ in range(count)]


class AttachedHalves(Closing):
    """One scheduler side and one worker; engines with the same ``namespace`` share blocks."""

    def __init__(self, socket: Path, layout_json: str, namespace: bytes | None = None) -> None:
        self.namespace = namespace or os.urandom(32)
        self._requests = 0
        key = os.urandom(16)
        self.scheduler = SchedulerClient(
            str(socket), key, "test-engine", self.namespace, "random-bytes", workers=1, shards=1
        )
        self.worker = WorkerClient(str(socket), "test-engine", 0, 0, EngineLayout(layout_json))
        self.worker.identify(key, self.namespace)
        self.wait_attached()

    def wait_attached(self) -> None:
        """Wait until the daemon knows both halves."""
        wait_until(
            lambda: self.scheduler.attached() and self.worker.attached(),
            f"the engine attaches (the daemon says: {self.worker.last_error()})",
            _ATTACH_S,
        )

    def new_request(self) -> str:
        """A request id."""
        self._requests += 1
        return f"request-{self._requests}"

    def lookup(self, hashes: Sequence[bytes]) -> tuple[str, Lookup]:
        """The request that asked, and the daemon's answer."""
        return look_up(self.scheduler, self.new_request(), hashes)

    def hit_count(self, hashes: Sequence[bytes]) -> int:
        """Blocks of ``hashes`` that are cached, from the first on; holds nothing afterwards."""
        request, answer = self.lookup(hashes)
        self.scheduler.forget(request)
        return answer.memory_blocks

    def start_save(
        self,
        hashes: Sequence[bytes],
        blocks: Sequence[int],
        point: StreamPoint | None = None,
    ) -> int:
        """Begin to save ``blocks``, of a GPU once its stream is at ``point``: the transfer."""
        transfer = self.worker.save(self.new_request(), b"".join(hashes), blocks, point)
        assert transfer is not None, "no daemon to save to"
        return transfer

    def save(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> TransferEnd:
        """Save ``blocks`` and wait for the end."""
        return self.wait_end(self.start_save(hashes, blocks))

    def start_load(
        self,
        hashes: Sequence[bytes],
        blocks: Sequence[int],
        point: StreamPoint | None = None,
    ) -> int:
        """Look ``hashes`` up, which must all be cached, and begin to load them: the transfer."""
        request, lease = self.lease(hashes)
        return self.worker.load(request, *lease, 0, blocks, point)

    def lease(self, hashes: Sequence[bytes]) -> tuple[str, tuple[int, int]]:
        """Look ``hashes`` up, which must all be cached: the request and its lease."""
        request, answer = self.lookup(hashes)
        assert answer.memory_blocks == len(hashes), "not all blocks are cached"
        lease = self.scheduler.take(request)
        assert lease is not None
        return request, lease

    def load(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> TransferEnd:
        """Load the cached ``hashes`` into ``blocks`` and wait for the end."""
        return self.wait_end(self.start_load(hashes, blocks))

    def wait_end(self, transfer: int, seconds: float = _CALL_S) -> TransferEnd:
        """Wait until ``transfer`` has ended; no other may end meanwhile."""
        ended = wait_until(self.worker.poll, f"transfer {transfer} ends", seconds)
        (end,) = ended
        assert end.transfer_id == transfer
        return end

    def close(self) -> None:
        """Leave the daemon."""
        self.worker.close()
        self.scheduler.close()


class AttachedEngine(AttachedHalves):
    """Both over an ``EngineMemory``."""

    def __init__(self, socket: Path, memory: EngineMemory, namespace: bytes | None = None) -> None:
        self.memory = memory
        super().__init__(socket, memory.layout_json(), namespace)


def look_up(
    scheduler: SchedulerClient, request: str, hashes: Sequence[bytes]
) -> tuple[str, Lookup]:
    """The request, and the daemon's answer to it."""
    packed = b"".join(hashes)
    answer = wait_until(
        lambda: _ready(scheduler.lookup(request, packed, HASH_BYTES, 0.05)),
        "the lookup is answered",
        _CALL_S,
    )
    return request, answer


def _ready(lookup: Lookup) -> Lookup | None:
    return lookup if lookup.state == "ready" else None
