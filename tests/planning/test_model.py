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

FALCON_7B = {
    "model_type": "falcon", "num_hidden_layers": 32, "num_attention_heads": 71,
    "hidden_size": 4544, "multi_query": True, "torch_dtype": "bfloat16",
}  # fmt: skip
GPT_OSS_20B = {
    "model_type": "gpt_oss", "num_hidden_layers": 24, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
}  # fmt: skip
GEMMA_2_9B = {
    "model_type": "gemma2", "num_hidden_layers": 42, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 256, "sliding_window": 4096, "torch_dtype": "float16",
}  # fmt: skip
QWEN3_NEXT = {
    "model_type": "qwen3_next", "num_hidden_layers": 48, "num_attention_heads": 16,
    "num_key_value_heads": 2, "head_dim": 256, "full_attention_interval": 4,
    "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "torch_dtype": "bfloat16",
}  # fmt: skip
MAMBA_2 = {
    "model_type": "mamba2", "num_hidden_layers": 64, "num_heads": 80, "head_dim": 64,
    "state_size": 128, "n_groups": 1, "conv_kernel": 4, "hidden_size": 2560,
}  # fmt: skip
JAMBA = {
    "model_type": "jamba", "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "hidden_size": 4096, "attn_layer_period": 8, "attn_layer_offset": 4,
    "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4,
}  # fmt: skip


def written(folder: Path, config: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("config", "dtype", "expected", "attention"),
    [
        (QWEN3_8B, "auto", 144 << 10, "gqa"),
        (QWEN3_8B, "fp8", 72 << 10, "gqa"),
        (LLAMA_31_8B, "auto", 128 << 10, "gqa"),
        ({**LLAMA_31_8B, "num_hidden_layers": 80, "num_attention_heads": 64,
          "hidden_size": 8192}, "auto", 320 << 10, "gqa"),
        ({**LLAMA_31_8B, "num_key_value_heads": None}, "auto", 512 << 10, "mha"),
        ({**LLAMA_31_8B, "num_key_value_heads": 1}, "auto", 16 << 10, "mqa"),
        ({**LLAMA_31_8B, "quantization_config": {"kv_cache_scheme": {"num_bits": 8}}}, "auto",
         64 << 10, "gqa"),
        (DEEPSEEK_V3, "auto", 61 * 576 * 2, "mla"),
        (DEEPSEEK_V3, "fp8", 61 * 576, "mla"),
        ({**DEEPSEEK_V3, "index_head_dim": 128}, "fp8_ds_mla", 61 * (656 + 132), "mla"),
        (FALCON_7B, "auto", 32 * 2 * 64 * 2, "mqa"),
        (GPT_OSS_20B, "auto", 24 * 2 * 8 * 64 * 2, "hybrid"),
        (GEMMA_2_9B, "auto", 42 * 2 * 8 * 256 * 2, "hybrid"),
        ({**GPT_OSS_20B, "num_kv_shared_layers": 4}, "auto", 20 * 2 * 8 * 64 * 2, "hybrid"),
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
    ("config", "token_bytes", "layers", "values", "attention"),
    [
        (QWEN3_NEXT, 12 * 2 * 2 * 256 * 2, 36, 3 * 8192 + 32 * 128 * 128, "hybrid"),
        (MAMBA_2, 0, 64, 3 * (5120 + 256) + 80 * 64 * 128, "state"),
        (JAMBA, 4 * 2 * 8 * 128 * 2, 28, 8192 * (3 + 16), "hybrid"),
    ],
)
def test_recurrent_layers_keep_one_state_for_each_block(
    tmp_path: Path,
    config: dict[str, Any],
    token_bytes: int,
    layers: int,
    values: int,
    attention: str,
) -> None:
    token = bytes_per_token(written(tmp_path, config), "fp8" if token_bytes == 0 else "auto")
    assert (token.bytes, token.attention) == (token_bytes, attention)
    assert token.state_bytes == layers * values * 2
    assert token.block_bytes(100) == 100 * token.bytes + token.state_bytes
    assert "with each block" in token.formula


def test_layers_that_slide_are_said_to_be_counted_whole(tmp_path: Path) -> None:
    assert "12 layers slide" in bytes_per_token(written(tmp_path, GPT_OSS_20B)).formula


@pytest.mark.parametrize(
    ("config", "is_cached"),
    [(LLAMA_31_8B, True), (DEEPSEEK_V3, True), (GPT_OSS_20B, False), (JAMBA, False)],
)
def test_what_the_connector_does_not_cache_is_said(
    tmp_path: Path, config: dict[str, Any], *, is_cached: bool
) -> None:
    formula = bytes_per_token(written(tmp_path, config)).formula
    assert ("does not cache yet" in formula) != is_cached


def test_a_shape_stands_in_for_a_file() -> None:
    shape = {"layers": 36, "kv_heads": 8, "head_dim": 128}
    assert bytes_per_token(None, "auto", shape).bytes == 144 << 10
    with pytest.raises(ConfigError, match="give all three"):
        bytes_per_token(None, "auto", {"layers": 36})


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "no num_hidden_layers"),
        ({"num_hidden_layers": 2}, "no num_attention_heads"),
        ({"num_hidden_layers": 2, "num_attention_heads": 2}, "no hidden_size"),
        ({**QWEN3_8B, "num_hidden_layers": "many"}, "'many' as num_hidden_layers"),
        ({**QWEN3_8B, "layer_types": ["full_attention", "retention"]}, "kind 'retention'"),
        ({**QWEN3_8B, "layer_types": ["linear_attention"]}, "recurrent layers of model_type"),
        ({**QWEN3_8B, "layer_types": "full"}, "a list of words"),
        ([], "no JSON object"),
        ({**QWEN3_8B, "num_hidden_layers": 10**20}, "a whole number from 1 to 1,048,576"),
        ({**QWEN3_8B, "num_hidden_layers": 1e20}, "1e+20 as num_hidden_layers"),
        ({**QWEN3_8B, "head_dim": 10**20}, "as head_dim"),
        ({**QWEN3_8B, "head_dim": "128"}, "'128' as head_dim"),
        ({**QWEN3_8B, "num_kv_shared_layers": "two"}, "'two' as num_kv_shared_layers"),
        ({**QWEN3_NEXT, "full_attention_interval": 2.5}, "2.5 as full_attention_interval"),
        ({**JAMBA, "attn_layer_offset": [4]}, "[4] as attn_layer_offset"),
        ({**QWEN3_8B, "attn_layer_indices": 5}, "5 as attn_layer_indices"),
        ({**MAMBA_2, "head_dim": 10**20}, "as head_dim"),
    ],
)
def test_what_is_missing_is_named_with_what_to_give(tmp_path: Path, config: Any, says: str) -> None:
    with pytest.raises(ConfigError, match="--bytes-per-token") as raised:
        bytes_per_token(written(tmp_path, config))
    assert says in str(raised.value)


def test_an_unknown_type_of_the_cache_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'int3' is no type .* fp8"):
        bytes_per_token(written(tmp_path, QWEN3_8B), "int3")


def test_an_architecture_that_is_not_known_is_said(tmp_path: Path) -> None:
    token = bytes_per_token(written(tmp_path, {**LLAMA_31_8B, "model_type": "newest"}))
    assert token.bytes == 128 << 10
    assert f"{tmp_path / 'config.json'} is of model_type 'newest', which is not" in token.formula
    for known in (LLAMA_31_8B, GPT_OSS_20B, QWEN3_NEXT, JAMBA):
        assert "not known" not in bytes_per_token(written(tmp_path, known)).formula
