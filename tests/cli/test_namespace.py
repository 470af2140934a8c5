"""``pegaflow namespace``."""

import json
from typing import Any

import pytest

from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import operated, status_document
from tests.cli.golden import golden

A, B, C = "ab" * 32, "ac" * 32, "12" * 32


def _daemon(**results: Any) -> StandInDaemon:
    (space,) = status_document()["namespaces"]
    namespaces = [
        space,
        space | {"group": 1, "blocks": 4, "bytes": 4 << 20, "ssd_blocks": 9, "ssd_bytes": 9 << 20},
        space | {"namespace": B, "bytes": 1 << 30, "pinned": True, "quota_bytes": 2 << 30},
        space | {"namespace": C, "blocks": 0, "bytes": 0, "hits": 0, "misses": 0},
    ]
    document = status_document(namespaces=namespaces)
    return StandInDaemon("/unused", status_answer=json.dumps(document), results=results)


def test_people_see_them_the_largest_first(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("namespace", "list")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == golden("namespace_list.txt")


def test_scripts_see_the_sum_of_their_groups(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon()
    document = pegaflow("namespace", "list", "--json").json("namespaces")
    assert [one["namespace"] for one in document["namespaces"]] == [B, A, C]
    assert document["namespaces"][1] == {
        "namespace": A,
        "model": "some/model",
        "blocks": 100,
        "bytes": 100 << 20,
        "ssd_blocks": 9,
        "ssd_bytes": 9 << 20,
        "hits": 1500,
        "misses": 500,
        "evictions": 0,
        "pinned": False,
        "quota_bytes": None,
    }


def test_evicting_names_what_goes_and_is_confirmed(pegaflow: CommandLine) -> None:
    memory = {"blocks": 99, "bytes": 99 << 20, "kept_blocks": 1, "kept_bytes": 4}
    evicted = {"namespace": A, "ssd_blocks": 9, "ssd_bytes": 9 << 20} | memory
    pegaflow.daemon = _daemon(**{"namespace-evict": operated("namespace-evict", **evicted)})
    outcome = pegaflow("namespace", "evict", "AB", typed="abababababab\n")
    assert outcome.code == 0
    assert outcome.err == (
        "pegaflow: 100 MiB in memory and 9 MiB on ssd of namespace abababababab go. "
        "Type abababababab to do it: "
    )
    assert outcome.out == (
        "99 blocks (99 MiB) evicted from memory, 9 (9 MiB) from ssd; 1 block (4 B) kept: in use\n"
    )
    assert pegaflow.daemon.operations == [{"operation": "namespace-evict", "namespace": A}]


@pytest.mark.parametrize(
    ("prefix", "code", "said"),
    [
        ("a", 2, f"2 namespaces begin with a; give more digits of one: {B}, {A}"),
        ("ff", 1, "no namespace begins with ff; `pegaflow namespace list` has those"),
    ],
)
def test_a_prefix_must_tell_one_namespace(
    pegaflow: CommandLine, prefix: str, code: int, said: str
) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("namespace", "evict", prefix, "--yes")
    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err
    assert pegaflow.daemon.operations == []


@pytest.mark.parametrize("prefix", ["", " ", "xyz", "ab ", "ab\n", "a" * 65])
def test_what_is_no_namespace_evicts_not_even_the_only_one(
    pegaflow: CommandLine, prefix: str
) -> None:
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document()))
    outcome = pegaflow("namespace", "evict", prefix, "--yes")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"namespace {prefix!r} cannot be used; allowed: 1 to 64 hexadecimal" in outcome.err
    assert pegaflow.daemon.operations == []


def test_pins_come_and_go(pegaflow: CommandLine) -> None:
    results = {
        f"namespace-{verb}": operated(f"namespace-{verb}", namespace=A, pinned=verb == "pin")
        for verb in ("pin", "unpin")
    }
    pegaflow.daemon = _daemon(**results)
    assert pegaflow("namespace", "pin", "ab").out == f"{A} is pinned\n"
    assert pegaflow("namespace", "unpin", "ab").out == f"{A} is not pinned\n"
    document = pegaflow("namespace", "pin", "ab", "--json").json("operated")
    assert (document["namespace"], document["pinned"]) == (A, True)


@pytest.mark.parametrize(
    ("amount", "field", "quota_bytes", "said"),
    [
        ("1GiB", {"bytes": 1 << 30}, 1 << 30, "takes 1 GiB at most"),
        ("50%", {"percent": 50.0}, 1 << 29, "takes 512 MiB at most"),
        ("none", None, None, "has no limit"),
    ],
)
def test_a_quota_is_bytes_a_part_or_none(
    pegaflow: CommandLine, amount: str, field: Any, quota_bytes: int | None, said: str
) -> None:
    result = operated("namespace-quota", namespace=A, quota_bytes=quota_bytes)
    pegaflow.daemon = _daemon(**{"namespace-quota": result})
    outcome = pegaflow("namespace", "quota", "ab", amount)
    assert (outcome.code, outcome.out) == (0, f"{A} {said}\n")
    assert pegaflow.daemon.operations == [
        {"operation": "namespace-quota", "namespace": "ab", "quota": field}
    ]


def test_a_quota_that_is_none_of_these_is_refused(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("namespace", "quota", "ab", "plenty")
    assert (outcome.code, outcome.out) == (2, "")
    assert "AMOUNT 'plenty' cannot be used; allowed: a part such as" in outcome.err
