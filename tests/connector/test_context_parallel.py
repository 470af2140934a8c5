"""Ranks that share the tokens of a block: what a block is to the scheduler, and to one worker."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pegaflow.connector import compat
from pegaflow.connector.facts import Parallelism
from pegaflow.connector.scheduler.planner import blocks_to_save
from pegaflow.connector.worker.registration import read_tensors
from tests.connector.sample_facts import facts
from tests.connector.test_facade import FakeTensor


class HalfBlocks(FakeTensor):
    """A tensor whose kernel uses blocks of half as many tokens as a worker's part of a block."""

    shape = (2000, 2, 16, 128)

    def stride(self) -> tuple[int, ...]:
        return (4096, 2048, 128, 1)


@pytest.mark.parametrize("prefill", [1, 2])
@pytest.mark.parametrize("decode", [1, 2, 4])
def test_a_block_has_the_tokens_of_all_ranks_and_a_worker_its_part(
    decode: int, prefill: int
) -> None:
    tokens = 32 * decode * prefill
    parallelism = Parallelism(4, 1, decode, prefill, 1, None)
    engine = replace(
        facts(block_tokens=tokens, hash_tokens=tokens, num_blocks=1000), parallelism=parallelism
    )
    tensor: Any = HalfBlocks(1 << 30)

    assert engine.refusal() is None
    assert parallelism.workers == 4 * prefill
    read = read_tensors({"layers.0": tensor}, engine, block_strides={}, backends=[])
    (layer,) = json.loads(read.layout_json)["groups"][0]["layers"]
    assert (layer["block_stride"], layer["segments"]) == (16_384, [[0, 16_384]])
    saved = blocks_to_save(
        next_save=0, loaded=range(0), computed=0, end=5 * tokens - 1, block_tokens=tokens, limit=9
    )
    assert saved == [0, 1, 2, 3]


def test_parallel_sizes_are_those_of_vllms_configuration() -> None:
    parallel = SimpleNamespace(
        tensor_parallel_size=4,
        pipeline_parallel_size=2,
        decode_context_parallel_size=2,
        prefill_context_parallel_size=3,
    )
    config = SimpleNamespace(kv_tp_replicas=1)
    assert compat._parallelism(parallel, config, ()) == Parallelism(4, 2, 2, 3, 1, None)
