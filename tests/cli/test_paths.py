"""``pegaflow tier flush``, ``drain``, ``add-path`` and ``remove-path``."""

import json
from typing import Any

import pytest

from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import operated, ssd_path, status_document

MIB = 1 << 20


def _daemon(**results: Any) -> StandInDaemon:
    ssd = status_document()["ssd"] | {"paths": [ssd_path("/mnt/a"), ssd_path("/mnt/b")]}
    return StandInDaemon(
        "/unused", status_answer=json.dumps(status_document(ssd=ssd)), results=results
    )


@pytest.mark.parametrize(
    ("tier", "said"),
    [
        ("memory", "7 blocks (7 MiB) written to ssd\n"),
        ("ssd", "what was on its way to the disks is on them\n"),
    ],
)
def test_a_flush_says_what_it_wrote(pegaflow: CommandLine, tier: str, said: str) -> None:
    result = operated("tier-flush", tier=tier, blocks=7, bytes=7 * MIB)
    pegaflow.daemon = _daemon(**{"tier-flush": result})
    outcome = pegaflow("tier", "flush", tier)
    assert (outcome.code, outcome.out) == (0, said)
    assert pegaflow.daemon.operations == [{"operation": "tier-flush", "tier": tier}]


@pytest.mark.parametrize(
    ("args", "name", "said"),
    [
        (["memory"], "memory", "96 MiB in memory go, but for what ssd has room for"),
        (["ssd"], "ssd", "1 GiB in ssd go, but for what memory has room for"),
        (["ssd", "--path", "/mnt/a"], "/mnt/a", "512 MiB in /mnt/a go, but for what memory"),
    ],
)
def test_a_drain_is_confirmed_by_name(
    pegaflow: CommandLine, args: list[str], name: str, said: str
) -> None:
    evicted = {"blocks": 9, "bytes": 9 * MIB, "kept_blocks": 0, "kept_bytes": 0}
    pegaflow.daemon = _daemon(**{"tier-drain": _drained(args[0], 0, **evicted)})
    assert pegaflow("tier", "drain", *args, typed="no\n").code == 1
    outcome = pegaflow("tier", "drain", *args, typed=f"{name}\n")
    assert outcome.code == 0
    assert said in outcome.err
    other = "written to ssd" if args[0] == "memory" else "loaded into memory"
    assert outcome.out == f"7 blocks (7 MiB) {other}; 9 blocks (9 MiB) evicted\n"
    assert len(pegaflow.daemon.operations) == 1


@pytest.mark.parametrize(
    ("no_room", "reason"),
    [
        (0, "in use or pinned"),
        (2, "for 2 ssd has no room, the others are in use or pinned"),
        (3, "ssd has no room"),
    ],
)
def test_a_drain_says_why_blocks_stay(pegaflow: CommandLine, no_room: int, reason: str) -> None:
    evicted = {"blocks": 9, "bytes": 9 * MIB, "kept_blocks": 3, "kept_bytes": 3 * MIB}
    drained = _drained("memory", no_room, **evicted)
    pegaflow.daemon = _daemon(**{"tier-drain": drained})
    outcome = pegaflow("tier", "drain", "memory", "--yes")
    assert outcome.code == 0
    assert outcome.out.endswith(f"9 blocks (9 MiB) evicted; 3 blocks (3 MiB) kept: {reason}\n")


def _drained(tier: str, no_room: int, **evicted: int) -> dict[str, Any]:
    copied = {"copied_blocks": 7, "copied_bytes": 7 * MIB, "no_room_blocks": no_room}
    return operated("tier-drain", tier=tier, **copied, **evicted)


def test_a_path_is_added_with_its_size(pegaflow: CommandLine) -> None:
    said = ["/mnt/c may take more than there is"]
    result = operated(
        "tier-add-path", path="/mnt/c", blocks=3, bytes=3 * MIB, evicted_blocks=0, warnings=said
    )
    pegaflow.daemon = _daemon(**{"tier-add-path": result})
    outcome = pegaflow("tier", "add-path", "/mnt/c=10GiB")
    assert (outcome.code, outcome.out) == (0, "/mnt/c is there, with 3 blocks (3 MiB)\n")
    assert outcome.err == "pegaflow: /mnt/c may take more than there is\n"
    assert pegaflow.daemon.operations == [
        {"operation": "tier-add-path", "path": "/mnt/c", "size_bytes": 10 << 30}
    ]


def test_a_path_is_made_smaller_with_yes_only(pegaflow: CommandLine) -> None:
    there = {"blocks": 725, "bytes": 725 * MIB, "evicted_blocks": 2200, "warnings": []}
    result = operated("tier-add-path", path="/mnt/c", **there)
    pegaflow.daemon = _daemon(**{"tier-add-path": result})
    said = "/mnt/c is there, with 725 blocks (725 MiB); 2,200 blocks had no room and went\n"
    assert pegaflow("tier", "add-path", "/mnt/c=1GiB", "--yes").out == said
    assert [request["evict"] for request in pegaflow.daemon.operations] == [True]


@pytest.mark.parametrize("text", ["/mnt/c", "mnt/c=10GiB", "/mnt/c=", "/mnt/c=0", "=1gb", ""])
def test_a_path_without_its_size_or_from_elsewhere_than_the_root_is_refused(
    pegaflow: CommandLine, text: str
) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("tier", "add-path", text)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"PATH=SIZE {text!r} cannot be used; allowed: a directory from / on" in outcome.err
    assert pegaflow.daemon.operations == []


def test_a_path_that_goes_leaves_its_files_unless_asked_and_confirmed(
    pegaflow: CommandLine,
) -> None:
    result = operated("tier-remove-path", path="/mnt/b", blocks=512, bytes=512 * MIB)
    pegaflow.daemon = _daemon(**{"tier-remove-path": result})
    outcome = pegaflow("tier", "remove-path", "/mnt/b")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "/mnt/b is gone, with 512 blocks (512 MiB), still in its files\n"
    refused = pegaflow("tier", "remove-path", "/mnt/b", "--delete-files")
    assert (refused.code, refused.out) == (2, "")
    assert "1 GiB of files in /mnt/b are deleted" in refused.err
    deleted = pegaflow("tier", "remove-path", "/mnt/b", "--delete-files", typed="/mnt/b\n")
    assert deleted.out == "/mnt/b is gone, with 512 blocks (512 MiB), deleted\n"
    assert [request["delete_files"] for request in pegaflow.daemon.operations] == [False, True]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("mnt/b", "PATH 'mnt/b' cannot be used; allowed: a path from / on"),
        ("/mnt/x", "path /mnt/x is none of the ssd tier's; allowed: /mnt/a, /mnt/b"),
    ],
)
def test_a_path_that_is_none_of_the_tier_s_is_refused(
    pegaflow: CommandLine, path: str, said: str
) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("tier", "remove-path", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
