"""An engine's KV memory without an engine: anonymous pages cut into layers and blocks."""

import ctypes
import json
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass

HASH_BYTES = 32
"""vLLM's block hash is a SHA-256."""

_FRESH_BYTES = 64


@dataclass(frozen=True)
class Shape:
    """How one block lies in memory: ``layers`` runs of ``segment_bytes``, one in each layer."""

    num_blocks: int
    layers: int
    segment_bytes: int

    @property
    def block_bytes(self) -> int:
        """Bytes of one block over all layers."""
        return self.layers * self.segment_bytes

    @property
    def layer_bytes(self) -> int:
        """Bytes of one layer over all blocks."""
        return self.num_blocks * self.segment_bytes


class EngineMemory:
    """Memory of this process that a daemon may copy from and to."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._bytes = mmap.mmap(-1, shape.layers * shape.layer_bytes)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._bytes))

    def layout_json(self) -> str:
        """What ``WorkerClient`` registers."""
        layers = [
            {
                "name": f"model.layers.{layer}.self_attn.attn",
                "base_address": self._address + layer * self.shape.layer_bytes,
                "block_stride": self.shape.segment_bytes,
                "segments": [[0, self.shape.segment_bytes]],
            }
            for layer in range(self.shape.layers)
        ]
        group = {"group": 0, "num_blocks": self.shape.num_blocks, "layers": layers}
        return json.dumps({"hash_bytes": HASH_BYTES, "groups": [group]})

    def read(self, blocks: Iterable[int]) -> list[bytes]:
        """The bytes of each block, layer after layer."""
        return [
            b"".join(self._bytes[start:end] for start, end in self._runs(block)) for block in blocks
        ]

    def write(self, block: int, content: bytes) -> None:
        """Put ``content``, layer after layer, where ``block`` lies."""
        size = self.shape.segment_bytes
        for layer, (start, end) in enumerate(self._runs(block)):
            self._bytes[start:end] = content[layer * size : (layer + 1) * size]

    def refill(self, blocks: Iterable[int]) -> list[bytes]:
        """Fresh bytes in each block, as an engine that uses it again; what they are.

        Each segment repeats random bytes of its own: any run of ``_FRESH_BYTES`` tells it apart.
        """
        repeats = self.shape.segment_bytes // _FRESH_BYTES
        contents = []
        for block in blocks:
            segments = (os.urandom(_FRESH_BYTES) * repeats for _ in range(self.shape.layers))
            content = b"".join(segments)
            self.write(block, content)
            contents.append(content)
        return contents

    def _runs(self, block: int) -> Iterable[tuple[int, int]]:
        for layer in range(self.shape.layers):
            start = layer * self.shape.layer_bytes + block * self.shape.segment_bytes
            yield start, start + self.shape.segment_bytes
