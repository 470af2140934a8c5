"""Which architectures' layers are known to keep what ``layers.py`` takes them to keep."""

from typing import Final

from pegaflow.planning.config_json import ModelConfig
from pegaflow.planning.states import is_recurrent

_KNOWN: Final = frozenset({
    "apertus", "arcee", "arctic", "baichuan", "bloom", "chatglm", "cohere", "cohere2", "dbrx",
    "deepseek", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1", "ernie4_5", "ernie4_5_moe",
    "exaone", "exaone4", "falcon", "gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n_text",
    "glm", "glm4", "glm4_moe", "glm_moe_dsa", "gpt2", "gpt_bigcode", "gpt_j", "gptj", "gpt_neox",
    "gpt_oss", "granite", "granitemoe", "granitemoeshared", "grok-1", "hunyuan_v1_dense",
    "hunyuan_v1_moe", "internlm2", "internlm3", "jais", "kimi_k2", "llama", "llama4",
    "llama4_text", "minicpm", "minicpm3", "minimax_m2", "mistral", "ministral",
    "mixtral", "mllama_text_model", "mpt", "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "opt",
    "persimmon", "phi", "phi3", "phimoe", "qwen", "qwen2", "qwen2_moe", "qwen2_vl",
    "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3", "qwen3_moe", "qwen3_vl",
    "qwen3_vl_text", "qwen3_vl_moe", "qwen3_vl_moe_text", "seed_oss", "smollm3", "solar",
    "stablelm", "starcoder2",
})  # fmt: skip


def doubt_about(config: ModelConfig) -> str | None:
    """What is not certain about the layers of a model, when its architecture is not known."""
    name = config.model_type
    if not name or name in _KNOWN or is_recurrent(config):
        return None
    return (
        f"{config.where} is of model_type {name!r}, which is not known: layers of which it says "
        "nothing else are taken to keep keys and values of all tokens"
    )
