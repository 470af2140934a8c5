"""A page has each tensor that vLLM registers, however many layers the model says it has."""

import json
from typing import Any

from pegaflow.connector.worker.registration import read_tensors
from tests.connector.sample_facts import facts
from tests.connector.test_facade import FakeTensor

_REGISTERED = [
    "model.layers.0.self_attn.attn",
    "model.layers.0.self_attn.indexer.k_cache",
    "model.layers.1.self_attn.attn",
    "model.layers.1.self_attn.indexer.k_cache",
    "model.layers.2.mtp_block.self_attn.attn",
]
"""A model of two layers with two caches each, and a layer that proposes tokens."""


def test_every_tensor_that_vllm_registers_is_in_the_page() -> None:
    tensors: dict[str, Any] = {
        name: FakeTensor(at << 30) for at, name in enumerate(_REGISTERED, start=1)
    }
    engine = facts()
    assert engine.config["num_hidden_layers"] == 2

    read = read_tensors(tensors, engine, block_strides={}, backends=[])

    (group,) = json.loads(read.layout_json)["groups"]
    assert [layer["name"] for layer in group["layers"]] == _REGISTERED
    assert len({layer["base_address"] for layer in group["layers"]}) == len(_REGISTERED)
