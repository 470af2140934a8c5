"""Reads the KV cache tensors that vLLM hands to a worker."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegaflow.connector.compat import tensor_type
from pegaflow.connector.facts import EngineFacts
from pegaflow.connector.identity import digest
from pegaflow.connector.interface import Tensor
from pegaflow.connector.metadata import WorkerLayout
from pegaflow.connector.worker.layout import (
    LayerLayout,
    LayoutError,
    TensorView,
    read_layers,
    to_json,
)

_MEMORY: Final = {"cpu": "host", "cuda": "cuda"}


@dataclass(frozen=True)
class Registration:
    """What a worker registers with the daemon, and tells its scheduler side."""

    layout: WorkerLayout
    layout_json: str
    """For the native client; empty with a refusal."""


def read_tensors(
    kv_caches: Mapping[str, Tensor],
    facts: EngineFacts,
    *,
    block_strides: Mapping[str, int],
    backends: Sequence[str],
) -> Registration:
    """Read where each layer's blocks are; what cannot be read is a refusal, never an error."""
    replicas = facts.parallelism.replicas
    try:
        layers = _read(kv_caches, facts, block_strides)
    except LayoutError as error:
        return Registration(WorkerLayout("", replicas, str(error)), "")
    kinds = sorted({str(tensor.dtype) for tensor in kv_caches.values()})
    meaning = digest(
        {
            "layers": [[layer.name, layer.axes] for layer in layers],
            "elements": kinds,
            "backends": list(backends),
            "machine": platform.machine(),
            "replicas": replicas,
        }
    )
    document = to_json(
        layers,
        num_blocks=facts.num_blocks,
        hash_bytes=facts.hash_bytes,
        memory=_memory(kv_caches),
    )
    return Registration(WorkerLayout(meaning.hex(), replicas), json.dumps(document))


def _memory(kv_caches: Mapping[str, Tensor]) -> str:
    """Where the cache is, as the native client calls it."""
    kinds = sorted({tensor_type(tensor) for tensor in kv_caches.values()})
    if len(kinds) == 1 and kinds[0] in _MEMORY:
        return _MEMORY[kinds[0]]
    raise LayoutError(f"the KV cache is on {' and '.join(kinds)}; cpu or cuda is supported")


def _read(
    kv_caches: Mapping[str, Tensor], facts: EngineFacts, block_strides: Mapping[str, int]
) -> list[LayerLayout]:
    refusal = facts.refusal()
    if refusal is not None:
        raise LayoutError(refusal)
    for name, tensor in kv_caches.items():
        if not hasattr(tensor, "data_ptr"):
            raise LayoutError(f"the cache of layer {name} is not one tensor")
    _memory(kv_caches)
    views = {
        name: TensorView(
            shape=tuple(tensor.shape),
            stride=tuple(tensor.stride()),
            itemsize=tensor.element_size(),
            address=tensor.data_ptr(),
        )
        for name, tensor in kv_caches.items()
    }
    return read_layers(
        views,
        num_blocks=facts.num_blocks,
        block_tokens=facts.worker_block_tokens,
        block_strides=block_strides,
    )
