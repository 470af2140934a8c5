"""A simulated engine that loads and checks what is cached of a request, and saves the rest."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from pegaflow._native import Lookup
from pegaflow.bench.engine import BenchEngine
from pegaflow.bench.layout import HASH_BYTES, BlockLayout
from pegaflow.bench.memory import HostDevice, HostMemory
from pegaflow.errors import PegaflowError, Unreachable
from pegaflow.replay.content import Content
from pegaflow.replay.report import Tally

_LOOKUP_S: Final = 0.05
_PAUSE_S: Final = 0.0002
_ABSENT_S: Final = 0.02

Answer = TypeVar("Answer")


class Stopped(Exception):
    """The replay ends, and the request with it."""


class ReplayEngine:
    """Has room for the blocks of one request, and waits for its daemon until it is stopped."""

    def __init__(
        self,
        socket: str,
        namespace: bytes,
        content: Content,
        blocks: int,
        stop: threading.Event,
    ) -> None:
        layout = BlockLayout("one run across layers", blocks, 1, content.block_bytes)
        self._memory = HostMemory(layout.size)
        self._engine = BenchEngine(
            socket, HostDevice(), layout, namespace=namespace, memory=self._memory
        )
        self._content = content
        self._blocks = blocks
        self._stop = stop
        self._waits_since: float | None = None
        self.tally = Tally()

    def waited_s(self) -> float:
        """How long it has been waiting for an answer of the daemon."""
        since = self._waits_since
        return 0.0 if since is None else time.monotonic() - since

    def is_attached(self) -> bool:
        """Whether there is a daemon that it can ask."""
        return self._engine.scheduler.attached() and self._engine.worker.attached()

    def serve(self, names: Sequence[int]) -> None:
        """One request for these blocks; what fails is counted, apart from what nobody answers.

        Raises ``Stopped`` when the replay ends meanwhile.
        """
        tally = self.tally
        self._until(self.is_attached)
        tally.requests += 1
        if len(names) > self._blocks:
            tally.cut_requests += 1
            names = names[: self._blocks]
        try:
            self._serve(f"replay-{tally.requests}", names)
        except Unreachable:
            tally.unanswered += 1
        except PegaflowError as error:
            tally.failures.append(str(error))

    def _serve(self, request: str, names: Sequence[int]) -> None:
        tally = self.tally
        hashes = [self._content.hash_of(name) for name in names]
        answer = self._look_up(request, b"".join(hashes))
        hits = answer.memory_blocks + answer.ssd_blocks + answer.remote_blocks
        tally.requested += len(names)
        tally.memory += answer.memory_blocks
        tally.ssd += answer.ssd_blocks
        tally.remote += answer.remote_blocks
        if hits:
            self._load(request, names[:hits])
        else:
            self._engine.scheduler.forget(request)
        if len(names) > hits:
            self._save(hashes[hits:], names[hits:], hits)

    def _look_up(self, request: str, hashes: bytes) -> Lookup:
        began = time.perf_counter()

        def ask() -> Lookup | None:
            answer = self._engine.scheduler.lookup(request, hashes, HASH_BYTES, _LOOKUP_S)
            if answer.state == "off":
                time.sleep(_ABSENT_S)
            elif answer.state == "pending":
                # It is an answer, though there is another one to come.
                self._waits_since = time.monotonic()
            return answer if answer.state == "ready" else None

        answer = self._until(ask)
        self.tally.lookup_ms.append(_since(began))
        return answer

    def _load(self, request: str, names: Sequence[int]) -> None:
        lease = self._engine.scheduler.take(request)
        if lease is None:
            raise Unreachable(f"the lease of {request} went with its session")
        size, tally = self._content.block_bytes, self.tally
        for block in range(len(names)):
            # What an earlier request left there must not pass for loaded.
            self._memory.write(block * size, bytes(8))
        began = time.perf_counter()
        self._engine.worker.load(request, *lease, 0, list(range(len(names))), None)
        self._until(self._engine.poll)
        tally.load_ms.append(_since(began))
        tally.loaded_blocks += len(names)
        for block, name in enumerate(names):
            if self._memory.read(block * size, size) != self._content.of(name):
                tally.wrong_blocks += 1

    def _save(self, hashes: Sequence[bytes], names: Sequence[int], first: int) -> None:
        size = self._content.block_bytes
        for block, name in enumerate(names, start=first):
            self._memory.write(block * size, self._content.of(name))
        began = time.perf_counter()
        self._engine.start_save(hashes, range(first, first + len(names)))
        (saved,) = self._until(self._engine.poll)
        self.tally.save_ms.append(_since(began))
        self.tally.saved_blocks += saved.blocks

    def _until(self, ask: Callable[[], Answer | None]) -> Answer:
        """What ``ask`` answers, however long that takes: who watches the replay ends it."""
        self._waits_since = time.monotonic()
        try:
            while not (answer := ask()):
                if self._stop.is_set():
                    raise Stopped
                time.sleep(_PAUSE_S)
            return answer
        finally:
            self._waits_since = None

    def close(self) -> None:
        """Leave the daemon."""
        self._engine.close()


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1e3
