"""Bytes of KV cache for each token, from a model's Hugging Face configuration."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.errors import ConfigError

_DTYPE_BYTES: Final = {
    "bfloat16": 2, "float16": 2, "float32": 4, "auto": None,
    "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "float8_e4m3fn": 1,
}  # fmt: skip
_STATEFUL: Final = {
    "bamba", "falcon_mamba", "jamba", "mamba", "mamba2", "nemotron_h", "qwen3_next",
    "recurrent_gemma", "rwkv", "zamba2",
}  # fmt: skip
_GIVE: Final = "give --bytes-per-token"


@dataclass(frozen=True)
class BytesPerToken:
    """What a token takes, and why."""

    bytes: int
    attention: str
    """``gqa`` (heads may be shared, or not) or ``mla``."""
    formula: str
    """How the number comes about, in words and numbers."""


def bytes_per_token(path: Path, kv_cache_dtype: str = "auto") -> BytesPerToken:
    """Of the model whose config.json, or folder with one, this is.

    Raises ``ConfigError`` for a configuration that lacks a field, and for architectures whose cache
    is not a fixed number of bytes a token.
    """
    path = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"the model's {path} cannot be read ({error.strerror}); {_GIVE}"
        ) from error
    except ValueError as error:
        raise ConfigError(f"{path} is no JSON ({error}); {_GIVE}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{path} is no JSON object; {_GIVE}")
    return _of(config.get("text_config") or config, path, kv_cache_dtype)


def _of(config: Mapping[str, Any], path: Path, kv_cache_dtype: str) -> BytesPerToken:
    kind = config.get("model_type")
    if kind in _STATEFUL:
        raise ConfigError(
            f"{path}: the cache of model_type {kind!r} is not a number of bytes a token; {_GIVE}"
        )
    width = _width(config, path, kv_cache_dtype)
    layers = _field(config, path, "num_hidden_layers")
    if config.get("kv_lora_rank"):
        latent = _field(config, path, "kv_lora_rank") + _field(config, path, "qk_rope_head_dim")
        formula = f"{layers} layers x {latent} latent and rope values x {width} bytes"
        return BytesPerToken(layers * latent * width, "mla", formula)
    heads = _field(config, path, "num_attention_heads")
    kv_heads = config.get("num_key_value_heads") or heads
    head_dim = config.get("head_dim")
    if not head_dim:
        head_dim = _field(config, path, "hidden_size") // heads
    formula = f"{layers} layers x 2 x {kv_heads} heads x {head_dim} values x {width} bytes"
    kinds = config.get("layer_types") or []
    sliding = sum(kind == "sliding_attention" for kind in kinds)
    if sliding:
        formula += f"; {sliding} layers slide, but all their blocks are kept for later requests"
    return BytesPerToken(layers * 2 * kv_heads * head_dim * width, "gqa", formula)


def _field(config: Mapping[str, Any], path: Path, name: str) -> int:
    value = config.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        says = "has no" if value is None else f"has {value!r} as"
        raise ConfigError(f"{path} {says} {name}, which is a number from 1 on; {_GIVE}")
    return value


def _width(config: Mapping[str, Any], path: Path, kv_cache_dtype: str) -> int:
    dtype = kv_cache_dtype
    if dtype == "auto":
        dtype = config.get("torch_dtype") or config.get("dtype") or "bfloat16"
    width = _DTYPE_BYTES.get(str(dtype))
    if width is None:
        allowed = ", ".join(name for name in _DTYPE_BYTES if _DTYPE_BYTES[name])
        raise ConfigError(
            f"{path}: {dtype!r} is no type of KV cache that is known; allowed: {allowed}; "
            "give --kv-cache-dtype"
        )
    return width
