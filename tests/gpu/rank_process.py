"""One worker of an engine with several, in a process of its own."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pegaflow._native import EngineLayout, TransferEnd, WorkerClient
from tests.engine.waiting import wait_until
from tests.fence.engine_memory import Shape
from tests.gpu.driver import Driver
from tests.gpu.engine_process import GpuMemory
from tests.gpu.line_process import serve

TRANSFER_S: Final = 60.0


class Commands:
    """The methods are what a test can ask for."""

    def __init__(
        self, socket: Path, shape: Shape, namespace: bytes, key: bytes, rank: int, shard: int
    ) -> None:
        self._driver = Driver()
        self._memory = GpuMemory(self._driver, shape)
        layout = EngineLayout(self._memory.layout_json())
        self._worker = WorkerClient(str(socket), "test-engine", rank, shard, layout)
        self._worker.identify(key, namespace)

    def attached(self) -> bool:
        return self._worker.attached()

    def refill(self, blocks: list[int]) -> list[str]:
        return self._memory.refill(blocks)

    def copy_to(self, path: str, blocks: list[int]) -> None:
        """The bytes of blocks, for another rank."""
        Path(path).write_bytes(b"".join(self._memory.read(blocks)))

    def copy_from(self, path: str, blocks: list[int]) -> list[str]:
        self._memory.write(blocks, Path(path).read_bytes())
        return self._memory.digests(blocks)

    def digests(self, blocks: list[int]) -> list[str]:
        self._driver.wait()
        return self._memory.digests(blocks)

    def save(self, hashes: list[str], blocks: list[int]) -> dict[str, Any]:
        return self._wait(self._start_save(hashes, blocks))

    def save_in_vain(self, hashes: list[str], blocks: list[int], milliseconds: int) -> bool:
        """Begin a save behind work of the stream, and take its grant back before that ends."""
        self._driver.fill_later(self._memory.address, 1, 0, milliseconds)
        return self._worker.revoke(self._start_save(hashes, blocks))

    def begin_save_late(self, hashes: list[str], blocks: list[int], milliseconds: int) -> None:
        self._driver.fill_later(self._memory.address, 1, 0, milliseconds)
        self._start_save(hashes, blocks)

    def load(self, lease: int, boot: int, blocks: list[int]) -> dict[str, Any]:
        point = self._worker.mark(self._driver.stream)
        return self._wait(self._worker.load("load", lease, boot, 0, blocks, point))

    def _start_save(self, hashes: Sequence[str], blocks: Sequence[int]) -> int:
        packed = b"".join(bytes.fromhex(text) for text in hashes)
        point = self._worker.mark(self._driver.stream)
        transfer = self._worker.save(os.urandom(8).hex(), packed, blocks, point)
        assert transfer is not None, "no daemon to save to"
        return transfer

    def _wait(self, transfer: int) -> dict[str, Any]:
        found: list[TransferEnd] = []

        def has_ended() -> bool:
            found.extend(end for end in self._worker.poll() if end.transfer_id == transfer)
            return bool(found)

        wait_until(has_ended, "the transfer ends", TRANSFER_S)
        return {"ok": found[0].ok, "bytes": found[0].bytes, "message": found[0].message}


def main(socket: str, shape: str, namespace: str, key: str, rank: str, shard: str) -> None:
    """Serve until the standard input ends."""
    sizes = Shape(*json.loads(shape))
    name, secret = bytes.fromhex(namespace), bytes.fromhex(key)
    serve(Commands(Path(socket), sizes, name, secret, int(rank), int(shard)))


if __name__ == "__main__":
    main(*sys.argv[1:])
