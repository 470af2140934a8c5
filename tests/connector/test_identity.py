"""The namespace: each thing that makes bytes differ changes it, and nothing else does."""

import random
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegaflow.connector.facts import EngineFacts, Parallelism
from pegaflow.connector.identity import digest, namespace, next_epoch
from tests.connector.sample_facts import facts, layer

ARGUMENTS: Mapping[str, Any] = {
    "weights": {"model": "commit org/model " + "c" * 40},
    "hash_scheme": b"h" * 32,
    "layouts": {0: "a" * 64},
    "salt": "",
}


def of(engine: EngineFacts | None = None, **changes: Any) -> bytes:
    return namespace(engine or facts(), **{**ARGUMENTS, **changes})


def parallel(**changes: Any) -> EngineFacts:
    return facts(parallelism=replace(facts().parallelism, **changes))


GEOMETRY = dict(facts().groups[0][0].geometry)

OTHERS: Mapping[str, bytes] = {
    "vllm": of(facts(vllm="0.33")),
    "weights": of(weights={"model": "commit org/model " + "d" * 40}),
    "draft weights": of(weights={**ARGUMENTS["weights"], "draft": "content x"}),
    "rope": of(facts(config={"rope_theta": 500_000.0, "num_hidden_layers": 2})),
    "rope scaling": of(facts(config={**facts().config, "rope_scaling": {"factor": 4.0}})),
    "option": of(facts(variants={"disable_sliding_window": True})),
    "dtype": of(facts(dtype="torch.float16")),
    "cache dtype": of(facts(cache_dtype="fp8")),
    "quantization": of(facts(quantization="awq")),
    "block size": of(facts(block_tokens=64)),
    "hash block size": of(facts(hash_tokens=16)),
    "hash scheme": of(hash_scheme=b"i" * 32),
    "tensor parallel size": of(parallel(tensor=2)),
    "pipeline parallel size": of(parallel(pipeline=2)),
    "pipeline split": of(parallel(pipeline=2, pipeline_split="1,1")),
    "decode context parallel size": of(parallel(decode_context=2)),
    "prefill context parallel size": of(parallel(prefill_context=2)),
    "shard kind": of(parallel(replicas=2)),
    "layer name": of(facts(groups=((layer("other.0"), layer("model.layers.1.self_attn.attn")),))),
    "layer kind": of(facts(groups=((layer(kind="MLAAttentionSpec"),),))),
    "layer geometry": of(facts(groups=((layer(geometry={**GEOMETRY, "head_size": 128}),),))),
    "groups": of(facts(groups=((layer("a.0"),), (layer("a.1"),)))),
    "kv layout": of(facts(kv_layout="LBNHC")),
    "worker layout": of(layouts={0: "b" * 64}),
    "number of worker layouts": of(layouts={0: "a" * 64, 1: "a" * 64}),
    "salt": of(salt="tenant"),
}


@pytest.mark.parametrize("factor", OTHERS)
def test_each_factor_changes_the_namespace(factor: str) -> None:
    assert OTHERS[factor] != of()


def test_no_two_factors_are_confused() -> None:
    assert len({of(), *OTHERS.values()}) == len(OTHERS) + 1


def test_a_namespace_is_a_sha256() -> None:
    assert len(of()) == 32


@pytest.mark.parametrize(
    "engine",
    [
        facts(engine_id="another"),
        facts(num_blocks=7),
        facts(max_model_len=8192),
        facts(config={**facts().config, "_name_or_path": "/elsewhere"}),
        facts(config={**facts().config, "transformers_version": "9"}),
        parallel(pipeline_split="2,2"),
    ],
    ids=["engine", "pool size", "served length", "path", "library version", "unused split"],
)
def test_what_does_not_change_bytes_does_not_change_the_namespace(engine: EngineFacts) -> None:
    assert of(engine) == of()


def test_the_served_length_matters_to_models_that_choose_rope_factors_by_it() -> None:
    config = {"rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 4096}}
    short = facts(config=config, max_model_len=4096)
    assert of(replace(short, max_model_len=2048)) == of(short)
    assert of(replace(short, max_model_len=8192)) != of(short)


def test_layers_may_be_listed_in_any_order() -> None:
    group = facts().groups[0]
    assert of(facts(groups=(tuple(reversed(group)),))) == of()


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans()), st.randoms())
def test_the_order_of_keys_does_not_matter(factors: dict[str, Any], shuffle: random.Random) -> None:
    items = list(factors.items())
    shuffle.shuffle(items)
    assert digest({"factors": dict(items)}) == digest({"factors": factors})


def test_values_without_a_stable_text_are_known_by_their_type() -> None:
    class Kind(Enum):
        LEFT = object()

    one, two = object(), object()
    assert digest({"value": one}) == digest({"value": two})
    assert digest({"value": {3, 1, 2}}) == digest({"value": {2, 3, 1}})
    assert digest({"value": Kind.LEFT}) == digest({"value": "LEFT"})


def test_every_reset_is_an_epoch_of_its_own() -> None:
    assert len({of(), next_epoch(of(), b"1" * 16), next_epoch(of(), b"2" * 16)}) == 3


# Refusals


def test_a_model_with_one_group_of_full_attention_is_shared() -> None:
    assert facts().refusal() is None


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        (facts(groups=((layer(),), (layer(),))), "the model has 2 cache groups"),
        (facts(groups=()), "the model has no KV cache"),
        (
            facts(groups=((layer(kind="MambaSpec", full_attention=False),),)),
            "of kind MambaSpec and only full attention",
        ),
        (facts(groups=((layer(non_causal=True),),)), "attends to later tokens"),
        (facts(own_scales=True), "turn calculate_kv_scales off"),
        (facts(hash_tokens=16), "blocks are hashed every 16 tokens but have 32"),
        (facts(hosts=2), "over 2 hosts and one daemon serves the workers of one host only"),
    ],
    ids=["groups", "no cache", "recurrent", "non-causal", "scales", "hash size", "hosts"],
)
def test_what_cannot_be_shared_is_refused_with_a_sentence(
    engine: EngineFacts, sentence: str
) -> None:
    refusal = engine.refusal()
    assert refusal is not None
    assert sentence in refusal
    assert refusal[0].islower()
    assert not refusal.endswith(".")


def test_replicated_ranks_share_shards() -> None:
    assert Parallelism(8, 2, 1, 1, 1, None).shards == 16
    assert Parallelism(8, 2, 1, 1, 8, None).shards == 2
    assert Parallelism(8, 2, 1, 2, 4, None).workers == 32
