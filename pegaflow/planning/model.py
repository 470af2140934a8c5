"""Bytes of KV cache for each token and block, from a model's Hugging Face configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegaflow.errors import ConfigError
from pegaflow.planning.architectures import doubt_about
from pegaflow.planning.config_json import ModelConfig, read_config
from pegaflow.planning.layers import BOTH, FULL, SLIDING, STATE, layers_of
from pegaflow.planning.states import state_of

_DTYPE_BYTES: Final = {
    "bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4,
    "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1, "fp8_ds_mla": 1, "float8_e4m3fn": 1,
}  # fmt: skip
_STATE_BYTES: Final = 2
"""Of one value of a recurrent state, where the model's type is not said."""
_SPARSE_MLA: Final = "fp8_ds_mla"
_INDEXER_GROUP: Final = 128
_SCALE_BYTES: Final = 4


@dataclass(frozen=True)
class BytesPerToken:
    """What a token takes, and why."""

    bytes: int
    """Of a token in all layers that keep something for each."""
    attention: str
    """``mha``, ``gqa``, ``mqa``, ``mla``, ``state`` (recurrent alone) or ``given``; ``hybrid`` for
    several kinds of layers."""
    formula: str
    """How the numbers come about, and what is counted."""
    state_bytes: int = 0
    """Of the recurrent layers' states, once for each block: a later request goes on from any."""

    def block_bytes(self, block_tokens: int) -> int:
        """Bytes of a block of so many tokens."""
        return self.bytes * block_tokens + self.state_bytes


def bytes_per_token(
    path: Path | None, kv_cache_dtype: str = "auto", given: Mapping[str, int] | None = None
) -> BytesPerToken:
    """Of the model whose config.json, or folder with one, this is.

    ``given`` has ``layers``, ``kv_heads`` and ``head_dim`` of plain attention; without ``path`` it
    needs all three, else it comes before what the file says. Raises ``ConfigError`` for a
    configuration that lacks a field, and for layers that are not known.
    """
    if given and len(given) == 3:
        shape = {
            "num_hidden_layers": given["layers"],
            "num_attention_heads": given["kv_heads"],
            "num_key_value_heads": given["kv_heads"],
            "head_dim": given["head_dim"],
        }
        return _of(ModelConfig(shape, "the given shape"), kv_cache_dtype)
    if given or path is None:
        raise ConfigError(
            "--layers, --kv-heads and --head-dim are one shape: give all three, or --model alone"
        )
    return _of(read_config(path), kv_cache_dtype)


def _of(config: ModelConfig, kv_cache_dtype: str) -> BytesPerToken:
    layers = layers_of(config)
    cache = _cache_dtype(config, kv_cache_dtype)
    width = _width(config, cache)
    states = layers[STATE] + layers[BOTH]
    size, kinds, parts = 0, set(), []
    if config.get("kv_lora_rank") and layers[FULL]:
        part, text = _latent(config, layers[FULL], cache, width)
        size, kinds, parts = part, {"mla"}, [text]
    else:
        for count, kind in ((layers[FULL] + layers[BOTH], FULL), (layers[SLIDING], SLIDING)):
            if count:
                part, name, text = _heads(config, count, kind, width)
                size += part
                kinds.add(name)
                parts.append(text)
    state_bytes = 0
    if states:
        state = state_of(config)
        # The type of the cache does not hold for states.
        wide = _DTYPE_BYTES.get(str(config.get("torch_dtype", "dtype")), _STATE_BYTES)
        state_bytes = states * state.values * wide
        kinds.add(STATE)
        parts.append(
            f"with each block {states} states of ({state.formula}) values x {wide} bytes, "
            "from which a later request goes on"
        )
    if layers[SLIDING]:
        kinds.add(SLIDING)
        parts.append(
            f"{layers[SLIDING]} layers slide, but all their blocks are counted: a later request "
            "may begin anywhere"
        )
    if sum(map(bool, (layers[FULL] + layers[BOTH], layers[SLIDING], states))) > 1:
        parts.append(
            "vLLM keeps these in several cache groups, which the connector does not cache yet"
        )
    if doubt := doubt_about(config):
        parts.append(doubt)
    mixed = kinds - {"mha", "gqa", "mqa", "mla"}
    attention = next(iter(kinds)) if len(kinds) == 1 else "hybrid" if mixed else "gqa"
    return BytesPerToken(size, attention, "; ".join(parts), state_bytes)


def _heads(config: ModelConfig, layers: int, kind: str, width: int) -> tuple[int, str, str]:
    """Bytes of keys and values, the kind of attention, and the formula."""
    heads = config.number("num_attention_heads", "n_head", "n_heads")
    head_dim = config.number_or_none("head_dim", "attention_head_dim", "kv_channels")
    if head_dim is None:
        head_dim = config.number("hidden_size", "n_embd", "d_model") // heads
    kv_heads = _kv_heads(config, heads)
    if kind == FULL:
        # Some models whose other layers slide have larger heads, and fewer, where all is seen.
        head_dim = config.number_or_none("global_head_dim") or head_dim
        kv_heads = config.number_or_none("num_global_key_value_heads") or kv_heads
    name = "mqa" if kv_heads == 1 else "gqa" if kv_heads < heads else "mha"
    text = f"{layers} layers x 2 x {kv_heads} heads x {head_dim} values x {width} bytes"
    return layers * 2 * kv_heads * head_dim * width, name, text


def _kv_heads(config: ModelConfig, heads: int) -> int:
    if config.get("num_key_value_heads", "num_kv_heads", "multi_query_group_num") is not None:
        if config.get("multi_query") and not config.get("new_decoder_architecture"):
            return 1
        return config.number("num_key_value_heads", "num_kv_heads", "multi_query_group_num")
    if isinstance(attention := config.get("attn_config"), dict) and attention.get("kv_n_heads"):
        return ModelConfig(attention, f"{config.where}, attn_config,").number("kv_n_heads")
    return 1 if config.get("multi_query") else heads


def _latent(config: ModelConfig, layers: int, cache: str, width: int) -> tuple[int, str]:
    """Bytes of latent attention, once however many GPUs share the model, and the formula."""
    rank, rope = config.number("kv_lora_rank"), config.number("qk_rope_head_dim")
    if cache == _SPARSE_MLA:
        # Latent values in one byte with a scale for each 128, rope values in two bytes.
        token = rank + rank // _INDEXER_GROUP * _SCALE_BYTES + 2 * rope
        text = f"{layers} layers x {token} bytes of {rank} latent and {rope} rope values"
    else:
        token = (rank + rope) * width
        text = f"{layers} layers x {rank + rope} latent and rope values x {width} bytes"
    if config.get("index_head_dim"):
        indexed = config.number("index_head_dim")
        index = indexed + indexed // _INDEXER_GROUP * _SCALE_BYTES
        token += index
        text += f", and {index} bytes of the indexer a layer"
    return layers * token, f"{text}; kept once, whatever the tensor parallel size"


def _cache_dtype(config: ModelConfig, given: str) -> str:
    """The type of the cache: as given, as the checkpoint asks for, or the model's."""
    if given != "auto":
        return given
    quantization = config.get("quantization_config")
    if isinstance(quantization, dict):
        scheme = quantization.get("kv_cache_scheme")
        is_8_bit = isinstance(scheme, dict) and scheme.get("num_bits") == 8
        if is_8_bit or str(quantization.get("kv_cache_quant_algo")).lower() == "fp8":
            return "fp8"
    return str(config.get("torch_dtype", "dtype") or "bfloat16")


def _width(config: ModelConfig, dtype: str) -> int:
    width = _DTYPE_BYTES.get(dtype)
    if width is None:
        raise ConfigError(
            f"{config.where}: {dtype!r} is no type of KV cache that is known; allowed: "
            f"{', '.join(_DTYPE_BYTES)}; give --kv-cache-dtype"
        )
    return width
