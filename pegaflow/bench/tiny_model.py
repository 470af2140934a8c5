"""A tiny random Llama model on disk: real safetensors, made in about a second, with no network.

The same seed gives the same bytes, so every engine that loads it computes the same tokens.
"""

import json
import random
import struct
import sys
from pathlib import Path
from typing import Final

VOCAB: Final = 1024
FIRST_WORD: Final = 4
"""Token ids below are special; prompts are made of ids from here up to ``VOCAB``."""

_HIDDEN: Final = 128
_INTERMEDIATE: Final = 256
_LAYERS: Final = 4
_HEADS: Final = 4
_KV_HEADS: Final = 2
_HEAD_DIM: Final = 32
_SPREAD: Final = 0.2
"""Standard deviation of the weights; with the usual 0.02 the greedy tokens are all alike."""

_SPECIAL: Final = ("<pad>", "<s>", "</s>", "<unk>")

_CONFIG: Final = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": VOCAB,
    "hidden_size": _HIDDEN,
    "intermediate_size": _INTERMEDIATE,
    "num_hidden_layers": _LAYERS,
    "num_attention_heads": _HEADS,
    "num_key_value_heads": _KV_HEADS,
    "head_dim": _HEAD_DIM,
    "max_position_embeddings": 4096,
    "initializer_range": _SPREAD,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def write_tiny_model(directory: Path, seed: int = 0) -> Path:
    """Write config, weights and tokenizer into ``directory``; other seeds are other models."""
    directory.mkdir(parents=True, exist_ok=True)
    _write_json(directory / "config.json", _CONFIG)
    _write_json(directory / "tokenizer.json", _tokenizer())
    _write_json(
        directory / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": "<pad>",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "model_max_length": 4096,
        },
    )
    _write_weights(directory / "model.safetensors", random.Random(seed))
    return directory


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _tokenizer() -> dict[str, object]:
    words = list(_SPECIAL) + [f"t{token}" for token in range(len(_SPECIAL), VOCAB)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": index,
                "content": word,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for index, word in enumerate(_SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: index for index, word in enumerate(words)},
            "unk_token": "<unk>",
        },
    }


def _tensors() -> dict[str, tuple[int, ...]]:
    query = _HEADS * _HEAD_DIM
    key = _KV_HEADS * _HEAD_DIM
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (VOCAB, _HIDDEN),
        "model.norm.weight": (_HIDDEN,),
        "lm_head.weight": (VOCAB, _HIDDEN),
    }
    for layer in range(_LAYERS):
        prefix = f"model.layers.{layer}"
        shapes |= {
            f"{prefix}.input_layernorm.weight": (_HIDDEN,),
            f"{prefix}.post_attention_layernorm.weight": (_HIDDEN,),
            f"{prefix}.self_attn.q_proj.weight": (query, _HIDDEN),
            f"{prefix}.self_attn.k_proj.weight": (key, _HIDDEN),
            f"{prefix}.self_attn.v_proj.weight": (key, _HIDDEN),
            f"{prefix}.self_attn.o_proj.weight": (_HIDDEN, query),
            f"{prefix}.mlp.gate_proj.weight": (_INTERMEDIATE, _HIDDEN),
            f"{prefix}.mlp.up_proj.weight": (_INTERMEDIATE, _HIDDEN),
            f"{prefix}.mlp.down_proj.weight": (_HIDDEN, _INTERMEDIATE),
        }
    return shapes


def _write_weights(path: Path, rng: random.Random) -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    parts: list[bytes] = []
    offset = 0
    for name, shape in _tensors().items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        is_norm = len(shape) == 1
        values = [1.0 if is_norm else rng.gauss(0.0, _SPREAD) for _ in range(count)]
        part = struct.pack(f"<{count}f", *values)
        header[name] = {
            "dtype": "F32",
            "shape": list(shape),
            "data_offsets": [offset, offset + len(part)],
        }
        parts.append(part)
        offset += len(part)
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    path.write_bytes(b"".join([struct.pack("<Q", len(encoded)), encoded, *parts]))


if __name__ == "__main__":
    print(write_tiny_model(Path(sys.argv[1])))
