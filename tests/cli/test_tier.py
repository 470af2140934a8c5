"""``pegaflow tier``: what it lists, asks, and changes."""

import json
from typing import Any

import pytest

from pegaflow.errors import ConfigError
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import operated, ssd_path, status_document
from tests.cli.golden import golden


def _daemon(**results: Any) -> StandInDaemon:
    ssd = status_document()["ssd"] | {"paths": [ssd_path("/mnt/a"), ssd_path("/mnt/b")]}
    return StandInDaemon(
        "/unused", status_answer=json.dumps(status_document(ssd=ssd)), results=results
    )


def test_people_see_every_part_of_every_tier(pegaflow: CommandLine) -> None:
    paths = [
        ssd_path("/mnt/a"),
        ssd_path("/mnt/b", state="offline", reason="reading /mnt/b fails: Input/output error"),
    ]
    ssd = status_document()["ssd"] | {"paths": paths}
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document(ssd=ssd)))
    outcome = pegaflow("tier", "list")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == golden("tier_list.txt")


def test_scripts_see_them_too(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon()
    document = pegaflow("tier", "list", "--json").json("tiers")
    assert [part["tier"] for part in document["tiers"]] == ["memory", "ssd", "ssd"]
    assert document["tiers"][1] == {
        "tier": "ssd",
        "path": "/mnt/a",
        "state": "online",
        "reason": None,
        "capacity_bytes": 10 << 30,
        "used_bytes": 1 << 30,
        "blocks": 512,
        "cached_bytes": 512 << 20,
    }


def test_a_daemon_without_ssd_has_one_tier(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document(ssd=None)))
    document = pegaflow("tier", "list", "--json").json("tiers")
    assert [part["tier"] for part in document["tiers"]] == ["memory"]


def test_a_larger_size_needs_no_confirmation(pegaflow: CommandLine) -> None:
    sizes = {
        "dry_run": False,
        "before_bytes": 1 << 30,
        "size_bytes": 2 << 30,
        "moved_blocks": 0,
        "evicted_blocks": 0,
    }
    pegaflow.daemon = _daemon(**{"tier-resize": operated("tier-resize", **sizes, warnings=[])})
    outcome = pegaflow("tier", "resize", "memory", "2GiB")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "memory has 2 GiB, before 1 GiB\n"
    assert pegaflow.daemon.operations == [
        {"operation": "tier-resize", "tier": "memory", "path": None, "size_bytes": 2 << 30}
    ]


def test_nobody_is_asked_for_a_size_that_is_not_possible(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon(**{"tier-resize": ConfigError("the pool size is 1 byte")})
    outcome = pegaflow("tier", "resize", "memory", "1", typed="memory\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "pegaflow: the pool size is 1 byte\n"


def test_a_smaller_size_is_confirmed_by_name(pegaflow: CommandLine) -> None:
    sizes = {
        "dry_run": False,
        "before_bytes": 1 << 30,
        "size_bytes": 1 << 29,
        "moved_blocks": 3,
        "evicted_blocks": 7,
    }
    pegaflow.daemon = _daemon(**{"tier-resize": operated("tier-resize", **sizes, warnings=[])})
    outcome = pegaflow("tier", "resize", "memory", "512MiB", typed="memory\n")
    assert outcome.code == 0
    assert outcome.err == (
        "pegaflow: memory shrinks from 1 GiB to 512 MiB; what does not fit is evicted. "
        "Type memory to do it: "
    )
    assert outcome.out == "memory has 512 MiB, before 1 GiB, 7 blocks evicted\n"
    assert [one.get("dry_run", False) for one in pegaflow.daemon.operations] == [True, False]


def test_a_size_that_is_rounded_is_said(pegaflow: CommandLine) -> None:
    sizes = {
        "dry_run": False,
        "before_bytes": 1 << 30,
        "size_bytes": 3 << 20,
        "moved_blocks": 0,
        "evicted_blocks": 7,
    }
    pegaflow.daemon = _daemon(**{"tier-resize": operated("tier-resize", **sizes, warnings=[])})
    outcome = pegaflow("tier", "resize", "memory", "3.3MiB", "--yes")
    assert outcome.out == (
        "memory has 3 MiB, before 1 GiB; 3.3 MiB were asked for, it has sizes of whole slabs only, "
        "7 blocks evicted\n"
    )


@pytest.mark.parametrize("typed", ["y\n", "\n", "", "Memory\n"])
def test_another_word_changes_nothing(pegaflow: CommandLine, typed: str) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("tier", "evict", "memory", "50%", typed=typed)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.endswith("memory was not typed; nothing was changed\n")
    assert pegaflow.daemon.operations == []


def test_without_a_terminal_it_must_be_said_beforehand(pegaflow: CommandLine) -> None:
    evicted = {"blocks": 5, "bytes": 5 << 20, "kept_blocks": 2, "kept_bytes": 2 << 20}
    pegaflow.daemon = _daemon(**{"tier-evict": operated("tier-evict", **evicted)})
    outcome = pegaflow("tier", "evict", "memory", "50%")
    assert (outcome.code, outcome.out) == (2, "")
    assert "standard input is no terminal to confirm it at: give --yes" in outcome.err
    assert pegaflow.daemon.operations == []
    outcome = pegaflow("tier", "evict", "memory", "50%", "--yes")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == ("5 blocks (5 MiB) evicted; 2 blocks (2 MiB) kept: in use or pinned\n")


def test_an_ssd_path_is_confirmed_by_its_path(pegaflow: CommandLine) -> None:
    evicted = {"blocks": 5, "bytes": 5 << 20, "kept_blocks": 0, "kept_bytes": 0}
    pegaflow.daemon = _daemon(**{"tier-evict": operated("tier-evict", **evicted)})
    args = ("tier", "evict", "ssd", "100%", "--path", "/mnt/b")
    assert pegaflow(*args, typed="ssd\n").code == 1
    outcome = pegaflow(*args, typed="/mnt/b\n")
    assert outcome.code == 0
    assert pegaflow.daemon.operations == [
        {"operation": "tier-evict", "tier": "ssd", "path": "/mnt/b", "amount": {"percent": 100.0}}
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["resize", "tape", "1gb"], "TIER 'tape' cannot be used; allowed: memory, ssd"),
        (["resize", "memory", "much"], "SIZE 'much' cannot be used; allowed: a size such as"),
        (["resize", "memory", "0"], "SIZE '0' cannot be used"),
        (["resize", "ssd", "1gb", "--path", "mnt"], "--path 'mnt' cannot be used; allowed: a path"),
        (
            ["resize", "ssd", "1gb"],
            "the ssd tier has 2 paths; name one with --path: /mnt/a, /mnt/b",
        ),
        (["resize", "ssd", "1gb", "--path", "/c"], "path /c is none of the ssd tier's"),
        (["resize", "memory", "1gb", "--path", "/c"], "the memory tier has no paths"),
        (["evict", "memory", "0%"], "AMOUNT '0%' cannot be used; allowed: a part such as 50%"),
        (["evict", "memory", "101%"], "AMOUNT '101%' cannot be used"),
        (["evict", "memory"], "missing argument 'AMOUNT'"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(
    pegaflow: CommandLine, args: list[str], said: str
) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("tier", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert pegaflow.daemon.operations == []


def test_without_an_ssd_tier_it_fails_and_says_how_to_have_one(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document(ssd=None)))
    outcome = pegaflow("tier", "evict", "ssd", "10%", "--yes")
    assert (outcome.code, outcome.out) == (1, "")
    assert "`pegaflow tier add-path PATH=SIZE` begins one" in outcome.err


def test_without_any_path_it_fails_and_says_how_to_have_one(pegaflow: CommandLine) -> None:
    document = status_document(ssd=status_document()["ssd"] | {"paths": []})
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(document))
    for command in (["evict", "ssd", "10%"], ["drain", "ssd"], ["resize", "ssd", "1gb"]):
        outcome = pegaflow("tier", *command, "--yes")
        assert (outcome.code, outcome.out) == (1, "")
        assert "`pegaflow tier add-path PATH=SIZE` gives it one" in outcome.err


@pytest.mark.parametrize("command", [["list"], ["resize", "memory", "1gb"]])
def test_without_a_daemon_it_is_unreachable(pegaflow: CommandLine, command: list[str]) -> None:
    assert pegaflow("tier", *command).code == 3


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ({"corrupt": 0, "pending": 0}, 0, "64 pages (64 MiB) as saved, 0 corrupt"),
        ({"corrupt": 2, "pending": 3}, 5, "2 corrupt and dropped, 3 without a checksum yet"),
    ],
)
def test_verifying_says_what_it_found(
    pegaflow: CommandLine, found: dict[str, int], code: int, said: str
) -> None:
    fields = {"tier": "memory", "verified": 64, "bytes": 64 << 20, "paths": []}
    result = operated("tier-verify", **fields, **found)
    pegaflow.daemon = _daemon(**{"tier-verify": result})
    outcome = pegaflow("tier", "verify", "memory")
    assert outcome.code == code
    assert said in outcome.out


def test_verifying_says_of_each_path_what_it_has(pegaflow: CommandLine) -> None:
    healthy = {"path": "/mnt/a", "verified": 5, "bytes": 5 << 20, "corrupt": 0, "reason": None}
    offline = {"path": "/mnt/b", "verified": 0, "bytes": 0, "corrupt": 0, "reason": "it is gone"}
    fields = {"tier": "ssd", "verified": 5, "bytes": 5 << 20, "corrupt": 0, "pending": 0}
    for other, code in [(offline, 5), (offline | {"reason": None}, 0)]:
        result = operated("tier-verify", **fields, paths=[healthy, other])
        pegaflow.daemon = _daemon(**{"tier-verify": result})
        outcome = pegaflow("tier", "verify", "ssd")
        assert outcome.code == code
        lines = outcome.out.splitlines()
        assert lines[1] == "/mnt/a: 5 (5 MiB) as saved, 0 corrupt"
        reason = "; not all was compared: it is gone" if code else ""
        assert lines[2] == "/mnt/b: 0 (0 B) as saved, 0 corrupt" + reason


def test_a_resize_of_a_path_that_another_one_overtook_says_so(pegaflow: CommandLine) -> None:
    sizes = {"dry_run": False, "before_bytes": 10 << 30, "size_bytes": 30 << 30, "moved_blocks": 0}
    result = operated("tier-resize", **sizes, evicted_blocks=0, warnings=[])
    pegaflow.daemon = _daemon(**{"tier-resize": result})
    outcome = pegaflow("tier", "resize", "ssd", "20GiB", "--path", "/mnt/a")
    assert outcome.out.endswith("; 20 GiB were asked for, another resize won\n")


def test_a_resize_says_what_the_file_system_lacks(pegaflow: CommandLine) -> None:
    sizes = {"dry_run": False, "before_bytes": 10 << 30, "size_bytes": 1 << 50, "moved_blocks": 0}
    result = operated("tier-resize", **sizes, evicted_blocks=0, warnings=["/mnt/a is too small"])
    pegaflow.daemon = _daemon(**{"tier-resize": result})
    outcome = pegaflow("tier", "resize", "ssd", "1PiB", "--path", "/mnt/a")
    assert (outcome.code, outcome.err) == (0, "pegaflow: /mnt/a is too small\n")
