"""An engine in a process of its own: it does what lines of JSON on its standard input say."""

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pegaflow._native import StreamPoint
from tests.fence.attached_engine import AttachedHalves
from tests.fence.engine_memory import HASH_BYTES, Shape
from tests.gpu.driver import Driver
from tests.gpu.line_process import serve

TRANSFER_S: Final = 60.0


class GpuMemory:
    """An engine's blocks on a GPU, layer after layer in one allocation."""

    def __init__(self, driver: Driver, shape: Shape) -> None:
        self.shape = shape
        self._driver = driver
        self.size = shape.layers * shape.layer_bytes
        self.address = driver.allocate(self.size)

    def layout_json(self) -> str:
        """What ``EngineLayout`` reads."""
        layers = [
            {
                "name": f"model.layers.{layer}.self_attn.attn",
                "base_address": self.address + layer * self.shape.layer_bytes,
                "block_stride": self.shape.segment_bytes,
                "segments": [[0, self.shape.segment_bytes]],
            }
            for layer in range(self.shape.layers)
        ]
        group = {"group": 0, "num_blocks": self.shape.num_blocks, "layers": layers}
        return json.dumps({"hash_bytes": HASH_BYTES, "memory": "cuda", "groups": [group]})

    def refill(self, blocks: Sequence[int]) -> list[str]:
        """Fresh bytes in each block; their digests."""
        size = self.shape.segment_bytes
        for block in blocks:
            for layer in range(self.shape.layers):
                self._driver.poke(self._address_of(layer, block), os.urandom(size))
        return self.digests(blocks)

    def digests(self, blocks: Sequence[int]) -> list[str]:
        """What tells the bytes of each block from others."""
        return [hashlib.sha256(content).hexdigest() for content in self.read(blocks)]

    def read(self, blocks: Sequence[int]) -> list[bytes]:
        """The bytes of each block, layer after layer."""
        size, layers = self.shape.segment_bytes, range(self.shape.layers)
        return [
            b"".join(self._driver.peek(self._address_of(layer, block), size) for layer in layers)
            for block in blocks
        ]

    def write(self, blocks: Sequence[int], content: bytes) -> None:
        """Put the bytes of all blocks, one after the other, where they lie."""
        size, at = self.shape.segment_bytes, 0
        for block in blocks:
            for layer in range(self.shape.layers):
                self._driver.poke(self._address_of(layer, block), content[at : at + size])
                at += size

    def _address_of(self, layer: int, block: int) -> int:
        shape = self.shape
        return self.address + layer * shape.layer_bytes + block * shape.segment_bytes


class Commands:
    """The methods are what a test can ask for."""

    def __init__(self, socket: Path, shape: Shape, namespace: bytes) -> None:
        self._driver = Driver()
        self._memory = GpuMemory(self._driver, shape)
        self._engine = AttachedHalves(socket, self._memory.layout_json(), namespace)
        self._points: list[StreamPoint] = []
        self._leases: list[tuple[str, tuple[int, int]]] = []

    def refill(self, blocks: list[int]) -> list[str]:
        return self._memory.refill(blocks)

    def digests(self, blocks: list[int]) -> list[str]:
        self._driver.wait()
        return self._memory.digests(blocks)

    def fill_later(self, value: int, milliseconds: int) -> None:
        memory = self._memory
        self._driver.fill_later(memory.address, memory.size, value, milliseconds)

    def mark(self) -> int:
        point = self._engine.worker.mark(self._driver.stream)
        assert point is not None
        self._points.append(point)
        return len(self._points) - 1

    def start_save(self, hashes: list[str], blocks: list[int], point: int) -> int:
        return self._engine.start_save(_bytes(hashes), blocks, self._points[point])

    def start_load(self, hashes: list[str], blocks: list[int], point: int) -> int:
        return self._engine.start_load(_bytes(hashes), blocks, self._points[point])

    def lease(self, hashes: list[str]) -> int:
        self._leases.append(self._engine.lease(_bytes(hashes)))
        return len(self._leases) - 1

    def start_leased_load(self, lease: int, blocks: list[int], point: int) -> int:
        request, held = self._leases[lease]
        return self._engine.worker.load(request, *held, 0, blocks, self._points[point])

    def hit_count(self, hashes: list[str]) -> int:
        return self._engine.hit_count(_bytes(hashes))

    def wait_attached(self) -> None:
        self._engine.wait_attached()

    def revoke(self, transfer: int) -> bool:
        return self._engine.worker.revoke(transfer)

    def is_scattering(self) -> bool:
        return self._engine.worker.counters()["scattering"] > 0

    def wait_end(self, transfer: int) -> dict[str, Any]:
        end = self._engine.wait_end(transfer, TRANSFER_S)
        return {"ok": end.ok, "seconds": end.seconds, "message": end.message}


def _bytes(hashes: list[str]) -> list[bytes]:
    return [bytes.fromhex(text) for text in hashes]


def main(socket: str, shape: str, namespace: str) -> None:
    """Serve until the standard input ends."""
    serve(Commands(Path(socket), Shape(*json.loads(shape)), bytes.fromhex(namespace)))


if __name__ == "__main__":
    main(*sys.argv[1:])
