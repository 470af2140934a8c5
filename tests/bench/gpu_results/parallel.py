"""Engines of two ranks on two GPUs, and models with MLA: hits, the same tokens, one copy."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.daemon import running_daemon
from pegaflow.bench.figures import Say
from pegaflow.bench.ttft import make_prompts
from pegaflow.bench.vllm_engine import ours, running_engine
from pegaflow.bench.vllm_site import VllmSite, plan_model, write_config
from tests.bench.gpu_results.result import Result, survived

_PROMPTS: Final = 4
_TOKENS: Final = 4000
_GENERATE: Final = 16
_POOL_BYTES: Final = 4 << 30

_TWO_RANKS: Final = {"tensor_parallel_size": 2, "disable_custom_all_reduce": True}
_MEMORY: Final = {"gpu_memory_utilization": 0.5}
_MLA_LAYERS: Final = 4
_MLA_NUMBERS: Final = 576
"""Of one token in one layer: 512 of the latent and 64 of the rope."""

_MLA_MODEL: Final[Mapping[str, Any]] = {
    "architectures": ["DeepseekV2ForCausalLM"],
    "model_type": "deepseek_v2",
    "torch_dtype": "bfloat16",
    "hidden_size": 2048,
    "intermediate_size": 4096,
    "moe_intermediate_size": 1408,
    "num_hidden_layers": _MLA_LAYERS,
    "first_k_dense_replace": _MLA_LAYERS,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "q_lora_rank": None,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "vocab_size": 32_000,
    "max_position_embeddings": 16_384,
    "rope_theta": 10000.0,
    "rms_norm_eps": 1e-6,
    "hidden_act": "silu",
    "attention_bias": False,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
"""DeepSeek-V2-Lite's attention without its experts; heads of 128 for prefill by FlashAttention."""

_MLA_ARGUMENTS: Final = {"attention_backend": "TRITON_MLA"}


def rows(say: Say) -> Iterator[Result]:
    """The 8B shape on two ranks, the one with MLA on one, and on two."""
    site = VllmSite.of(sys.executable)
    with tempfile.TemporaryDirectory(prefix="pegaflow-results-") as name:
        directory = Path(name)
        mla = {
            "model": str(write_config(directory / "mla", _MLA_MODEL)),
            "kv_cache_memory_bytes": 2 << 30,
            **_MLA_ARGUMENTS,
        }
        kinds: dict[str, tuple[Mapping[str, Any], int]] = {
            "8B shape, two ranks": (_TWO_RANKS, 0),
            "MLA, one rank": (mla, 1),
            "MLA, two ranks": (mla | _TWO_RANKS, 1),
        }
        for kind, (arguments, copies) in kinds.items():
            yield from survived(kind, _rows(kind, site, directory, arguments, copies, say))


def _rows(
    kind: str,
    site: VllmSite,
    directory: Path,
    arguments: Mapping[str, Any],
    copies: int,
    say: Say,
) -> Iterator[Result]:
    """``copies``: how many of the latent are to be kept; 0 where there is none."""
    plan = plan_model(site, directory, None, _TOKENS)
    prompts = make_prompts(plan, _PROMPTS)
    say(f"starting vLLM {site.version}: {kind}")
    with (
        running_daemon(_POOL_BYTES) as daemon,
        running_engine(
            site,
            {**plan.arguments, **_MEMORY, **arguments},
            directory / "engine.log",
            ours(daemon.socket),
        ) as engine,
    ):
        engine.wait_attached(daemon)
        cold = engine.one_by_one(prompts, _GENERATE)
        engine.settle(daemon)
        spaces = daemon.status().namespaces
        engine.reset()
        warm = engine.one_by_one(prompts, _GENERATE)
    same = sum(one.tokens == other.tokens for one, other in zip(cold, warm, strict=True))
    asked = sum(map(len, prompts))
    yield Result(f"{kind}: same greedy tokens", same, f"of {_PROMPTS}", _PROMPTS, "least")
    cached = sum(result.cached for result in warm)
    hits = round(100 * cached / asked, 1)
    yield Result(f"{kind}: prompt tokens loaded", hits, "%", 98.0, "least", "own cache emptied")
    if copies:
        kept, whole = sum(space.bytes for space in spaces), cached * _MLA_LAYERS * _MLA_NUMBERS * 2
        what = f"{kind}: kept over one copy of the latent"
        how = f"{kept:,} bytes for {cached:,} tokens"
        yield Result(what, round(kept / whole, 2), "x", 1.1, "most", how)
