"""Bytes of a token, for the models whose numbers are known."""

import json
from pathlib import Path
from typing import Any

import pytest

from pegaflow.errors import ConfigError
from pegaflow.planning import bytes_per_token

QWEN3_8B = {
    "model_type": "qwen3", "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip
LLAMA_31_8B = {
    "model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "hidden_size": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
    "torch_dtype": "bfloat16",
}  # fmt: skip


def written(folder: Path, config: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(
    ("config", "dtype", "expected", "attention"),
    [
        (QWEN3_8B, "auto", 144 << 10, "gqa"),
        (QWEN3_8B, "fp8", 72 << 10, "gqa"),
        (LLAMA_31_8B, "auto", 128 << 10, "gqa"),
        ({**LLAMA_31_8B, "num_hidden_layers": 80, "num_attention_heads": 64,
          "hidden_size": 8192}, "auto", 320 << 10, "gqa"),
        ({**LLAMA_31_8B, "num_key_value_heads": None}, "auto", 512 << 10, "gqa"),
        (DEEPSEEK_V3, "auto", 61 * 576 * 2, "mla"),
        ({"model_type": "gemma3", "text_config": QWEN3_8B}, "auto", 144 << 10, "gqa"),
    ],
)  # fmt: skip
def test_a_token_takes_what_the_model_s_shape_says(
    tmp_path: Path, config: dict[str, Any], dtype: str, expected: int, attention: str
) -> None:
    written(tmp_path, config)
    token = bytes_per_token(tmp_path, dtype)
    assert (token.bytes, token.attention) == (expected, attention)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "no num_hidden_layers"),
        ({"num_hidden_layers": 2}, "no num_attention_heads"),
        ({"num_hidden_layers": 2, "num_attention_heads": 2}, "no hidden_size"),
        ({**QWEN3_8B, "num_hidden_layers": "many"}, "'many' as num_hidden_layers"),
        ({**QWEN3_8B, "model_type": "mamba2"}, "'mamba2'"),
        ([], "no JSON object"),
    ],
)
def test_what_is_missing_is_named_with_what_to_give(tmp_path: Path, config: Any, says: str) -> None:
    with pytest.raises(ConfigError, match="--bytes-per-token") as raised:
        bytes_per_token(written(tmp_path, config))
    assert says in str(raised.value)


def test_an_unknown_type_of_the_cache_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'int3' is no type .* fp8"):
        bytes_per_token(written(tmp_path, QWEN3_8B), "int3")
