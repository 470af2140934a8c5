"""What a snapshot takes of a status document."""

from typing import Any

import pytest

from pegaflow.observe.reading import snapshot
from tests.cli.documents import status_document
from tests.observe.samples import sample

_RUNNING = {"operation": "tier-resize", "elapsed_s": 2.0, "blocks": 5, "blocks_expected": 20}


def _ssd(**changes: Any) -> dict[str, Any]:
    ssd: dict[str, Any] = status_document()["ssd"]
    return ssd | changes


def _warming(state: str) -> dict[str, Any]:
    return {
        "state": state,
        "planned_blocks": 8,
        "planned_bytes": 800,
        "fetched_blocks": 2,
        "fetched_bytes": 200,
        "elapsed_s": 3.0,
    }


@pytest.mark.parametrize(
    ("done", "expected", "share"), [(0, 0, 0.25), (300, 400, 0.75), (500, 400, 1.0)]
)
def test_operations_are_as_far_as_their_bytes_else_their_blocks(
    done: int, expected: int, share: float
) -> None:
    running = _RUNNING | {"bytes": done, "bytes_expected": expected}
    found = snapshot(sample(operations=[running], ssd=_ssd(warming=None)))
    assert [(one.operation, one.share) for one in found.operations] == [("tier-resize", share)]


def test_an_operation_that_does_not_know_what_there_is_to_do_has_no_share() -> None:
    running = _RUNNING | {"bytes": 0, "bytes_expected": 0, "blocks_expected": 0}
    found = snapshot(sample(operations=[running], ssd=_ssd(warming=None)))
    assert [one.share for one in found.operations] == [None]


@pytest.mark.parametrize(("state", "told"), [("running", [0.25]), ("done", []), ("cancelled", [])])
def test_a_warming_at_the_start_is_told_while_it_runs(state: str, told: list[float]) -> None:
    found = snapshot(sample(operations=[], ssd=_ssd(warming=_warming(state))))
    assert [one.share for one in found.operations] == told


def test_a_warming_that_an_operator_began_is_told_once() -> None:
    running = _RUNNING | {"operation": "warm", "bytes": 10, "bytes_expected": 100}
    found = snapshot(sample(operations=[running], ssd=_ssd(warming=_warming("running"))))
    assert [(one.operation, one.share) for one in found.operations] == [("warm", 0.1)]


def test_bytes_by_numa_node_are_told_or_why_there_are_none() -> None:
    pool = status_document()["pool"]
    nodes = [{"node": 0, "bytes": 300}, {"node": 1, "bytes": 100}]
    found = snapshot(sample(pool=pool | {"nodes": nodes}))
    assert [(one.node, one.bytes) for one in found.nodes] == [(0, 300), (1, 100)]
    assert "numa" not in found.absent
    assert "NUMA" in snapshot(sample(pool=pool | {"nodes": []})).absent["numa"]


def test_graphs_of_ssd_end_at_what_its_disks_can_do() -> None:
    rates = {"read_bytes_per_s": 3e9, "write_bytes_per_s": 0.0}
    found = snapshot(sample(ssd=_ssd(**rates)))
    assert {flow.name: flow.tier_bytes_per_s for flow in found.flows} == {
        "save": None,
        "load": None,
        "ssd read": 3e9,
        "ssd write": None,
    }


def test_engines_of_one_id_are_told_apart() -> None:
    def engine(pid: int, blocks: int) -> dict[str, Any]:
        moved = {"transfers": blocks, "failures": 0, "blocks": blocks, "bytes": 10 * blocks}
        found: dict[str, Any] = status_document()["engines"][0]
        return found | {"scheduler_pid": pid, "saves": moved, "loads": moved}

    before = sample(engines=[engine(1, 5), engine(2, 7)])
    after = sample(at=before.at + 1, engines=[engine(1, 6), engine(2, 10)])
    found = snapshot(after, before).engines
    assert [(one.saved_blocks, one.loaded_blocks) for one in found] == [(1, 1), (3, 3)]
