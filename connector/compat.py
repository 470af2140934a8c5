"""All that depends on vLLM's version or internals: nothing else in the connector imports vLLM.

Written against vLLM 0.20 to 0.33. Without vLLM the classes of ``interface`` stand in and the
functions that read vLLM's objects cannot be called.
"""

import os
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pegaflow.connector.facts import (
    EngineFacts,
    LayerFacts,
    ModelSource,
    Parallelism,
)
from pegaflow.connector.interface import Tensor

_HAS_VLLM: Final = find_spec("vllm") is not None

if TYPE_CHECKING or not _HAS_VLLM:
    from pegaflow.connector.interface import (
        KVConnectorBase_V1,
        KVConnectorMetadata,
        KVConnectorPromMetrics,
        KVConnectorRole,
        KVConnectorStats,
        KVConnectorWorkerMetadata,
        SupportsHMA,
    )
else:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import (
        KVConnectorBase_V1,
        KVConnectorMetadata,
        KVConnectorRole,
        KVConnectorWorkerMetadata,
        SupportsHMA,
    )
    from vllm.distributed.kv_transfer.kv_connector.v1.metrics import (
        KVConnectorPromMetrics,
        KVConnectorStats,
    )

__all__ = [
    "KVConnectorBase_V1",
    "KVConnectorMetadata",
    "KVConnectorPromMetrics",
    "KVConnectorRole",
    "KVConnectorStats",
    "KVConnectorWorkerMetadata",
    "SupportsHMA",
    "attention_backends",
    "block_strides",
    "hash_of_tokens",
    "hash_seed_is_random",
    "hit_sources",
    "read_engine",
    "recompute_failed_loads",
    "register",
    "worker_rank",
]

_MODEL_VARIANTS: Final = (
    "code_revision",
    "disable_sliding_window",
    "model_class_overrides",
    "model_impl",
    "quantization_config",
)
_MULTIMODAL_VARIANTS: Final = ("mm_processor_kwargs", "video_pruning_rate")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SNAPSHOT: Final = re.compile(r"/models--(?P<name>[^/]+)/snapshots/(?P<commit>[0-9a-f]{40})/?$")
"""A Hub model in its local cache: what vLLM names instead of the id when it is offline."""


def register(name: str, module: str) -> None:
    """Make vLLM find the connector by its name alone, as ``MultiConnector`` does for statistics."""
    if not _HAS_VLLM:
        return
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    if name not in KVConnectorFactory._registry:
        KVConnectorFactory.register_connector(name, module, name)


def read_engine(vllm_config: Any, kv_cache_config: Any) -> EngineFacts:
    """The facts of the engine that these configurations of vLLM describe."""
    from vllm.v1.core.kv_cache_utils import resolve_kv_cache_block_sizes
    from vllm.version import __version_tuple__

    model, cache = vllm_config.model_config, vllm_config.cache_config
    block_tokens, hash_tokens = resolve_kv_cache_block_sizes(kv_cache_config, vllm_config)
    groups = tuple(
        tuple(_layers(group.layer_names, group.kv_cache_spec))
        for group in kv_cache_config.kv_cache_groups
    )
    return EngineFacts(
        engine_id=str(vllm_config.kv_transfer_config.engine_id),
        vllm=".".join(str(part) for part in __version_tuple__[:2]),
        model=_source(model, vllm_config.load_config),
        draft=_draft(vllm_config),
        config=model.hf_config.to_dict(),
        variants=_variants(model),
        max_model_len=model.max_model_len,
        dtype=str(model.dtype),
        cache_dtype=str(cache.cache_dtype),
        quantization=None if model.quantization is None else str(model.quantization),
        own_scales=bool(getattr(cache, "calculate_kv_scales", False)),
        kv_layout=_kv_layout(kv_cache_config),
        block_tokens=block_tokens,
        hash_tokens=hash_tokens,
        hash_bytes=len(_hash_function(vllm_config)(())),
        num_blocks=kv_cache_config.num_blocks,
        groups=groups,
        parallelism=_parallelism(vllm_config.parallel_config, kv_cache_config, groups),
        hosts=getattr(vllm_config.parallel_config, "nnodes_within_dp", 1),
    )


def hash_of_tokens(vllm_config: Any, tokens: Sequence[int]) -> bytes:
    """The hash that this engine gives a first block of ``tokens``.

    Call it only after vLLM's engine has started: in vLLM 0.20 to 0.28 the seed is drawn then.
    """
    from vllm.v1.core.kv_cache_utils import hash_block_tokens

    return bytes(hash_block_tokens(_hash_function(vllm_config), None, tokens, None))


def hash_seed_is_random(vllm_config: Any) -> bool:
    """Whether each start of vLLM hashes the same tokens to other values."""
    from vllm.v1.core import kv_cache_utils

    if os.environ.get("PYTHONHASHSEED") is not None:
        return False
    has_fixed_seed = hasattr(kv_cache_utils, "DEFAULT_NONE_HASH_SEED")
    cryptographic = str(vllm_config.cache_config.prefix_caching_hash_algo).startswith("sha256")
    return not (has_fixed_seed and cryptographic)


def recompute_failed_loads(vllm_config: Any) -> bool:
    """Have vLLM compute what could not be loaded; False when it does so already."""
    transfer = vllm_config.kv_transfer_config
    if transfer.kv_load_failure_policy == "recompute":
        return False
    transfer.kv_load_failure_policy = "recompute"
    return True


def worker_rank() -> int:
    """The rank of this worker among those of its engine: pipeline, prefill context, tensor."""
    from vllm.distributed import parallel_state

    tensor = parallel_state.get_tp_group()
    prefill = parallel_state.get_pcp_group()
    stage = parallel_state.get_pp_group().rank_in_group
    row = stage * prefill.world_size + prefill.rank_in_group
    return int(row * tensor.world_size + tensor.rank_in_group)


def block_strides(kv_cache_config: Any) -> dict[str, int]:
    """Bytes from one block to the next for each layer of which vLLM says it.

    vLLM 0.24 to 0.27 says it of packed tensors only, 0.31 on of all.
    """
    strides: dict[str, int] = {}
    for tensor in kv_cache_config.kv_cache_tensors:
        stride = getattr(tensor, "block_stride", 0)
        if stride:
            layers = tensor.layers if hasattr(tensor, "layers") else tensor.shared_by
            strides.update(dict.fromkeys(layers, stride))
    return strides


def attention_backends(vllm_config: Any) -> list[str]:
    """The names of the attention implementations that this worker's layers use.

    They decide what the bytes of a block mean, which shapes and strides cannot tell.
    """
    names: set[str] = set()
    for layer in vllm_config.compilation_config.static_forward_context.values():
        find = getattr(layer, "get_attn_backend", None)
        if find is not None:
            backend = find()
            names.add(f"{backend.__module__}.{backend.__qualname__}")
    return sorted(names)


def hit_sources(memory: int, ssd: int, remote: int) -> dict[Any, int]:
    """Loaded tokens by vLLM's names of the tiers that had them (0.32 on)."""
    from vllm.v1.metrics.cache_hit_source import CacheHitSource

    tokens = {
        CacheHitSource.HOST: memory,
        CacheHitSource.DISK: ssd,
        CacheHitSource.P2P: remote,
    }
    return {source: count for source, count in tokens.items() if count}


def tensor_type(tensor: Tensor) -> str:
    """Where a tensor's memory is: ``cpu``, ``cuda``, ..."""
    return str(tensor.device.type)


def _layers(names: Sequence[str], spec: Any) -> list[LayerFacts]:
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    by_name: Mapping[str, Any] = getattr(spec, "kv_cache_specs", None) or dict.fromkeys(names, spec)
    return [
        LayerFacts(
            name=name,
            kind=type(one).__name__,
            full_attention=isinstance(one, FullAttentionSpec) and not hasattr(one, "rswa_window"),
            non_causal=bool(getattr(one, "non_causal", False)),
            geometry={**vars(one), "page_size_bytes": one.page_size_bytes},
        )
        for name, one in by_name.items()
    ]


def _variants(model: Any) -> dict[str, Any]:
    multimodal = getattr(model, "multimodal_config", None)
    return {
        **{name: getattr(model, name, None) for name in _MODEL_VARIANTS},
        **{name: getattr(multimodal, name, None) for name in _MULTIMODAL_VARIANTS},
    }


def _source(model: Any, load: Any) -> ModelSource:
    name = str(model.model)
    snapshot = _SNAPSHOT.search(name)
    if snapshot is not None:
        name, commit = snapshot["name"].replace("--", "/"), snapshot["commit"]
    else:
        commit = _commit(name, model.revision, getattr(model.hf_config, "_commit_hash", None))
    return ModelSource(
        name=name,
        revision=model.revision,
        commit=commit,
        random=str(getattr(load, "load_format", "auto")) == "dummy",
    )


def _draft(vllm_config: Any) -> ModelSource | None:
    speculative = vllm_config.speculative_config
    draft = getattr(speculative, "draft_model_config", None)
    return None if draft is None else _source(draft, vllm_config.load_config)


def _commit(name: str, revision: str | None, known: str | None) -> str | None:
    if Path(name).exists():
        return None
    if known:
        return known
    if revision and _COMMIT.fullmatch(revision):
        return revision
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json", revision=revision)
    parent = Path(found).parent.name if isinstance(found, str) else ""
    return parent if _COMMIT.fullmatch(parent) else None


def _kv_layout(kv_cache_config: Any) -> str | None:
    layout = getattr(kv_cache_config, "kv_cache_layout", None)
    return str(layout) if layout else os.environ.get("VLLM_KV_CACHE_LAYOUT")


def _hash_function(vllm_config: Any) -> Any:
    from vllm.utils.hashing import get_hash_fn_by_name

    return get_hash_fn_by_name(vllm_config.cache_config.prefix_caching_hash_algo)


def _parallelism(
    parallel: Any, kv_cache_config: Any, groups: tuple[tuple[LayerFacts, ...], ...]
) -> Parallelism:
    return Parallelism(
        tensor=parallel.tensor_parallel_size,
        pipeline=parallel.pipeline_parallel_size,
        decode_context=parallel.decode_context_parallel_size,
        prefill_context=parallel.prefill_context_parallel_size,
        replicas=_replicas(parallel, kv_cache_config, groups),
        pipeline_split=os.environ.get("VLLM_PP_LAYER_PARTITION"),
    )


def _replicas(
    parallel: Any, kv_cache_config: Any, groups: tuple[tuple[LayerFacts, ...], ...]
) -> int:
    said = getattr(kv_cache_config, "kv_tp_replicas", None)
    if said is not None:
        return int(said)
    from vllm.v1.kv_cache_interface import MLAAttentionSpec

    specs = [group.kv_cache_spec for group in kv_cache_config.kv_cache_groups]
    each = [one for spec in specs for one in getattr(spec, "kv_cache_specs", {"": spec}).values()]
    latent = bool(groups) and all(isinstance(one, MLAAttentionSpec) for one in each)
    alone = parallel.decode_context_parallel_size == 1
    return int(parallel.tensor_parallel_size) if latent and alone else 1
