"""Facts of an engine, for tests that change one thing at a time."""

from dataclasses import replace
from typing import Any

from pegaflow.connector.facts import EngineFacts, LayerFacts, ModelSource, Parallelism


def layer(name: str = "model.layers.0.self_attn.attn", **changes: Any) -> LayerFacts:
    geometry = {"block_size": 32, "num_kv_heads": 2, "head_size": 64, "page_size_bytes": 32_768}
    plain = LayerFacts(name, "FullAttentionSpec", True, False, geometry)
    return replace(plain, **changes)


def facts(**changes: Any) -> EngineFacts:
    plain = EngineFacts(
        engine_id="engine",
        vllm="0.32",
        model=ModelSource("org/model", None, "c" * 40, False),
        draft=None,
        config={"rope_theta": 10_000.0, "num_hidden_layers": 2},
        variants={},
        max_model_len=4096,
        dtype="torch.bfloat16",
        cache_dtype="auto",
        quantization=None,
        own_scales=False,
        kv_layout="LBHNC",
        block_tokens=32,
        hash_tokens=32,
        hash_bytes=32,
        num_blocks=1000,
        groups=((layer("model.layers.0.self_attn.attn"), layer("model.layers.1.self_attn.attn")),),
        parallelism=Parallelism(1, 1, 1, 1, 1, None),
        hosts=1,
    )
    return replace(plain, **changes)
