"""What differs between vLLM's versions, as far as it can be told without vLLM."""

from types import SimpleNamespace
from typing import Any

import pytest

from pegaflow.connector import compat


def config_of(*tensors: Any) -> Any:
    return SimpleNamespace(kv_cache_tensors=list(tensors))


@pytest.mark.parametrize(
    ("tensor", "strides"),
    [
        (SimpleNamespace(size=1, shared_by=["a"]), {}),
        (SimpleNamespace(size=1, shared_by=["a"], offset=0, block_stride=0), {}),
        (SimpleNamespace(size=1, shared_by=["a", "b"], block_stride=64), {"a": 64, "b": 64}),
        (SimpleNamespace(size=1, layers=["a", "b"], block_stride=64), {"a": 64, "b": 64}),
    ],
    ids=["0.20", "0.24 plain", "0.24 packed", "0.31"],
)
def test_block_strides_are_taken_where_vllm_states_them(
    tensor: Any, strides: dict[str, int]
) -> None:
    assert compat.block_strides(config_of(tensor)) == strides


@pytest.mark.parametrize(
    ("policy", "changed"), [("fail", True), ("recompute", False)], ids=["default", "user"]
)
def test_failed_loads_are_computed_by_vllm(policy: str, changed: bool) -> None:
    transfer = SimpleNamespace(kv_load_failure_policy=policy)
    config = SimpleNamespace(kv_transfer_config=transfer)

    assert compat.recompute_failed_loads(config) is changed
    assert transfer.kv_load_failure_policy == "recompute"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("/cache/hub/models--org--some-model/snapshots/" + "a" * 40, ("org/some-model", "a" * 40)),
        ("/models/org--model", ("/models/org--model", None)),
    ],
    ids=["local cache of the Hub", "directory"],
)
def test_a_snapshot_of_the_hub_is_known_by_its_commit(
    name: str, known: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlib.Path.exists", lambda path: True)
    model = SimpleNamespace(model=name, revision=None, hf_config=SimpleNamespace())
    source = compat._source(model, SimpleNamespace(load_format="auto"))

    assert (source.name, source.commit) == known


def test_a_commit_is_taken_from_where_it_is_known() -> None:
    assert compat._commit("org/model", "main", "b" * 40) == "b" * 40
    assert compat._commit("org/model", "c" * 40, None) == "c" * 40
