"""How one block lies in an engine's KV memory: the layouts that vLLM has."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

HASH_BYTES: Final = 32
"""vLLM's block hash is a SHA-256."""

_LAYERS: Final = 32
_MLA_LAYERS: Final = 27
_MLA_RUN_BYTES: Final = 16 * 576 * 2
"""A block of 16 tokens of DeepSeek's latent KV in one layer, bf16."""


@dataclass(frozen=True)
class BlockLayout:
    """``runs`` runs of ``run_bytes`` a block, each in a layer of its own."""

    name: str
    num_blocks: int
    runs: int
    run_bytes: int

    @property
    def block_bytes(self) -> int:
        """Bytes of one block over all layers."""
        return self.runs * self.run_bytes

    @property
    def size(self) -> int:
        """Bytes of all blocks."""
        return self.num_blocks * self.block_bytes

    def places(self, block: int) -> Iterator[slice]:
        """Where the runs of ``block`` are in the engine's memory, in layer order."""
        for run in range(self.runs):
            start = (run * self.num_blocks + block) * self.run_bytes
            yield slice(start, start + self.run_bytes)

    def registration(self, base_address: int, memory: str) -> str:
        """What ``EngineLayout`` reads; ``memory`` is ``host`` or ``cuda``."""
        layers = [
            {
                "name": f"model.layers.{run}.self_attn.attn",
                "base_address": base_address + run * self.num_blocks * self.run_bytes,
                "block_stride": self.run_bytes,
                "segments": [[0, self.run_bytes]],
            }
            for run in range(self.runs)
        ]
        group = {"group": 0, "num_blocks": self.num_blocks, "layers": layers}
        return json.dumps({"hash_bytes": HASH_BYTES, "memory": memory, "groups": [group]})


ONE_OF_EIGHT: Final = "K and V apart, one of 8 ranks"
"""The same model with an eighth of the heads, so with an eighth of a run."""


def layouts(num_blocks: int, block_bytes: int) -> list[BlockLayout]:
    """The layouts of a model of 32 layers whose block has so many bytes, and of one with MLA."""
    return [
        BlockLayout("one run across layers", num_blocks, 1, block_bytes),
        BlockLayout("blocks first", num_blocks, _LAYERS, block_bytes // _LAYERS),
        BlockLayout("K and V apart", num_blocks, 2 * _LAYERS, block_bytes // (2 * _LAYERS)),
        BlockLayout(ONE_OF_EIGHT, num_blocks, 2 * _LAYERS, block_bytes // (16 * _LAYERS)),
        BlockLayout("MLA", num_blocks, _MLA_LAYERS, _MLA_RUN_BYTES),
    ]
