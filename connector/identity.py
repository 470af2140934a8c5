"""The namespace: whose blocks an engine may share.

Two engines have the same namespace exactly when equal tokens leave equal bytes in their pages.
"""

import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from pegaflow.connector.facts import EngineFacts

LAYOUT_VERSION: Final = 1
"""Grows when this connector lays out pages in another way."""

PROBE_TOKENS: Final = tuple(range(1, 17))
"""The tokens whose block hash stands for the engine's way of hashing."""

_NOT_OF_THE_MODEL: Final = frozenset(
    {"_name_or_path", "_commit_hash", "transformers_version", "dtype", "torch_dtype"}
)
"""Entries of a model's configuration that say where it is from or how it is run."""


def namespace(
    facts: EngineFacts,
    *,
    weights: Mapping[str, str],
    hash_scheme: bytes,
    layouts: Mapping[int, str],
    salt: str,
) -> bytes:
    """The SHA-256 (32 bytes) over canonical JSON of all that makes two engines' blocks differ.

    ``weights``: what the weights of ``model`` and ``draft`` are, by content or commit.
    ``hash_scheme``: this engine's hash of ``PROBE_TOKENS``. ``layouts``: layout digests by rank.
    """
    parallel = facts.parallelism
    return digest(
        {
            "layout_version": LAYOUT_VERSION,
            "vllm": facts.vllm,
            "weights": dict(weights),
            "config": _effective(facts.config),
            "variants": dict(facts.variants),
            "long_context": _long_context(facts),
            "dtype": facts.dtype,
            "cache_dtype": facts.cache_dtype,
            "quantization": facts.quantization,
            "block_tokens": facts.block_tokens,
            "hash_tokens": facts.hash_tokens,
            "hash_scheme": hash_scheme.hex(),
            "tensor_parallel": parallel.tensor,
            "pipeline_parallel": parallel.pipeline,
            "pipeline_split": parallel.pipeline_split if parallel.pipeline > 1 else None,
            "decode_context_parallel": parallel.decode_context,
            "prefill_context_parallel": parallel.prefill_context,
            "shard_kind": f"{parallel.replicas} replicas",
            "groups": [
                sorted(
                    ({"name": one.name, "kind": one.kind, **one.geometry} for one in group),
                    key=lambda layer: str(layer["name"]),
                )
                for group in facts.groups
            ],
            "kv_layout": facts.kv_layout,
            "layouts": {str(rank): layout for rank, layout in layouts.items()},
            "salt": salt,
        }
    )


def next_epoch(namespace: bytes, epoch: bytes) -> bytes:
    """The namespace of this engine after its cache was reset; ``epoch`` is new for each reset."""
    return hashlib.sha256(namespace + epoch).digest()


def digest(factors: Mapping[str, Any]) -> bytes:
    """SHA-256 over canonical JSON: the order of keys does not matter, each value does."""
    text = json.dumps(_plain(factors), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).digest()


def _effective(config: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if key not in _NOT_OF_THE_MODEL:
            kept[key] = _effective(value) if isinstance(value, Mapping) else value
    return kept


def _long_context(facts: EngineFacts) -> bool:
    """Whether rope switches to its long factors: some models choose by the served length."""
    original = _find(facts.config, "original_max_position_embeddings")
    return isinstance(original, int) and facts.max_model_len > original


def _find(config: Mapping[str, Any], key: str) -> Any:
    if key in config:
        return config[key]
    nested = (_find(value, key) for value in config.values() if isinstance(value, Mapping))
    return next((value for value in nested if value is not None), None)


def _plain(value: Any) -> Any:
    """The value in JSON's types; what has no stable text is known by its type alone."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(item) for item in value), key=str)
    text = str(value)
    return text if " at 0x" not in text else f"{type(value).__module__}.{type(value).__qualname__}"
