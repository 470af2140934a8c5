"""Prints, as JSON, how the connector reads vLLM's descriptions of layers.

Runs under the Python of the vLLM installation: a plain description, one of a subclass that vLLM
does not know, and several in one uniform group.
"""

import json
from dataclasses import dataclass

import torch
from vllm.v1.kv_cache_interface import FullAttentionSpec, UniformTypeKVCacheSpecs

from pegaflow.connector import compat


@dataclass(frozen=True, kw_only=True)
class _Later(FullAttentionSpec):  # type: ignore[misc]
    """A kind of full attention that a later release adds."""

    extra: int = 0


def main() -> None:
    """Answer on standard output."""
    sizes = {"block_size": 32, "num_kv_heads": 2, "head_size": 64, "dtype": torch.float32}
    plain, later = FullAttentionSpec(**sizes), _Later(**sizes)
    uniform = UniformTypeKVCacheSpecs(block_size=32, kv_cache_specs={"a": plain, "b": later})
    read = {
        "plain": compat._layers(["one"], plain),
        "subclass": compat._layers(["one"], later),
        "uniform": compat._layers(["a", "b"], uniform),
    }
    print(
        json.dumps(
            {
                name: [[layer.name, layer.kind, layer.full_attention] for layer in layers]
                for name, layers in read.items()
            }
        )
    )


if __name__ == "__main__":
    main()
