"""A simulated engine that loads and checks what is cached of a request, and saves the rest."""

import time
from collections.abc import Sequence

from pegaflow.bench.engine import BenchEngine
from pegaflow.bench.layout import BlockLayout
from pegaflow.bench.memory import HostDevice, HostMemory
from pegaflow.errors import PegaflowError
from pegaflow.replay.content import Content
from pegaflow.replay.report import Tally


class ReplayEngine:
    """Has room for the blocks of one request."""

    def __init__(self, socket: str, namespace: bytes, content: Content, blocks: int) -> None:
        layout = BlockLayout("one run across layers", blocks, 1, content.block_bytes)
        self._memory = HostMemory(layout.size)
        self._engine = BenchEngine(
            socket, HostDevice(), layout, namespace=namespace, memory=self._memory
        )
        self._content = content
        self._blocks = blocks
        self.tally = Tally()

    def serve(self, names: Sequence[int]) -> None:
        """One request for these blocks; what fails is counted, and said."""
        tally = self.tally
        tally.requests += 1
        if len(names) > self._blocks:
            tally.cut_requests += 1
            names = names[: self._blocks]
        try:
            self._serve(names)
        except PegaflowError as error:
            tally.failures.append(str(error))

    def _serve(self, names: Sequence[int]) -> None:
        tally, engine = self.tally, self._engine
        hashes = [self._content.hash_of(name) for name in names]
        began = time.perf_counter()
        request, answer = engine.lookup(hashes)
        tally.lookup_ms.append(_since(began))
        hits = answer.memory_blocks + answer.ssd_blocks + answer.remote_blocks
        tally.requested += len(names)
        tally.memory += answer.memory_blocks
        tally.ssd += answer.ssd_blocks
        tally.remote += answer.remote_blocks
        if hits:
            self._load(request, names[:hits])
        else:
            engine.scheduler.forget(request)
        if len(names) > hits:
            self._save(hashes[hits:], names[hits:], hits)

    def _load(self, request: str, names: Sequence[int]) -> None:
        lease = self._engine.scheduler.take(request)
        if lease is None:
            raise PegaflowError(f"the lease of {request} is gone")
        size, tally = self._content.block_bytes, self.tally
        for block in range(len(names)):
            # What an earlier request left there must not pass for loaded.
            self._memory.write(block * size, bytes(8))
        began = time.perf_counter()
        self._engine.wait(
            self._engine.worker.load(request, *lease, 0, list(range(len(names))), None)
        )
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
        blocks = range(first, first + len(names))
        saved = self._engine.wait(self._engine.start_save(hashes, blocks))
        self.tally.save_ms.append(_since(began))
        self.tally.saved_blocks += saved.blocks

    def close(self) -> None:
        """Leave the daemon."""
        self._engine.close()


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1e3
