"""``pegaflow warm``, with the daemon's part replaced."""

import json
import re

import pytest

from pegaflow.errors import CallTimeout, Refused
from pegaflow.models import Progress
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import warmed

MIB = 1 << 20


def _progress(blocks: int) -> Progress:
    return Progress(blocks, blocks * MIB, 100, 100 * MIB)


def _daemon(*events: object) -> StandInDaemon:
    return StandInDaemon("/unused", results={"warm": list(events)})


def test_it_says_what_was_loaded_and_how_fast(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon(json.dumps(warmed()))
    outcome = pegaflow("warm", "--from", "ssd")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "100 blocks (100 MiB) loaded within 2 s (50 MiB/s)\n"
    assert pegaflow.daemon.operations == [
        {
            "operation": "warm",
            "from": "ssd",
            "namespace": None,
            "limit": None,
            "order": "recent",
            "rate_bytes_per_s": None,
            "dry_run": False,
        }
    ]


def test_it_says_what_was_not_loaded_and_why(pegaflow: CommandLine) -> None:
    result = warmed(
        blocks=1, bytes=MIB, present_blocks=9, no_room_blocks=50, passed_blocks=4, failed_blocks=45
    )
    pegaflow.daemon = _daemon(json.dumps(result))
    assert pegaflow("warm").out == (
        "1 block (1 MiB) loaded within 2 s (512 KiB/s); 9 blocks in memory already, "
        "50 blocks found no room, 45 blocks could not be read\n"
    )


@pytest.mark.parametrize("dry_run", [False, True])
def test_it_says_what_the_limit_leaves_out(pegaflow: CommandLine, dry_run: bool) -> None:
    nothing = {"planned_blocks": 0, "planned_bytes": 0, "blocks": 0, "bytes": 0, "limited": True}
    pegaflow.daemon = _daemon(json.dumps(warmed(dry_run=dry_run, present_blocks=2, **nothing)))
    args = ["--dry-run"] if dry_run else []
    said = pegaflow("warm", "--limit=1", *args).out
    assert said.startswith("0 blocks (0 B) ")
    others = "2 blocks in memory already, the limit leaves out what would be next\n"
    assert said.endswith(f"; {others}")


def test_every_option_reaches_the_daemon(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon(json.dumps(warmed(dry_run=True, blocks=0, bytes=0)))
    outcome = pegaflow(
        *("warm", "--from=ssd", "--namespace=ab", "--limit=50%", "--order=frequent"),
        *("--rate=200MiB", "--dry-run"),
    )
    assert outcome.out == "100 blocks (100 MiB) would be loaded, as far as there is room\n"
    (request,) = pegaflow.daemon.operations
    assert request == {
        "operation": "warm",
        "from": "ssd",
        "namespace": "ab",
        "limit": {"percent": 50.0},
        "order": "frequent",
        "rate_bytes_per_s": 200 * MIB,
        "dry_run": True,
    }


def test_scripts_get_the_daemon_s_document_as_it_is(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon(_progress(50), json.dumps(warmed()))
    outcome = pegaflow("warm", "--json")
    assert outcome.json("operated") == warmed()


def test_where_nobody_looks_there_is_a_line_for_each_tenth(pegaflow: CommandLine) -> None:
    events = [Progress(0, 0, 0, 0), *map(_progress, [0, 5, 10, 11, 35, 35, 100])]
    pegaflow.daemon = _daemon(*events, json.dumps(warmed()))
    outcome = pegaflow("warm")
    lines = outcome.err.splitlines()
    assert [line.partition(" MiB of ")[0] for line in lines] == [
        "pegaflow: warm: 10%, 10",
        "pegaflow: warm: 30%, 35",
    ]
    assert all("/s, " in line and line.endswith(" left") for line in lines)


def test_ctrl_c_ends_it_in_the_daemon_and_says_what_was_done(pegaflow: CommandLine) -> None:
    result = warmed(cancelled=True, blocks=30, bytes=30 * MIB)
    pegaflow.daemon = _daemon(_progress(30), KeyboardInterrupt(), json.dumps(result))
    outcome = pegaflow("warm")
    assert outcome.code == 130
    assert outcome.err.endswith("pegaflow: warm: ending it; Ctrl-C once more leaves at once\n")
    assert outcome.out == "interrupted: 30 blocks (30 MiB) loaded within 2 s (15 MiB/s)\n"
    assert pegaflow.daemon.begun[0].cancelled


def test_no_progress_is_told_now_and_then(
    pegaflow: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("pegaflow.cli.progress.time.monotonic", lambda: float(next(clock)))
    events = [_progress(3)] * 45 + [_progress(4)] * 12
    pegaflow.daemon = _daemon(*events, json.dumps(warmed()))
    outcome = pegaflow("warm")
    assert re.findall(r"no progress for (\d+ s),", outcome.err) == ["10 s", "20 s", "40 s", "10 s"]


def test_ctrl_c_gives_scripts_their_document_too(pegaflow: CommandLine) -> None:
    result = warmed(cancelled=True, blocks=30, bytes=30 * MIB)
    pegaflow.daemon = _daemon(KeyboardInterrupt(), _progress(30), json.dumps(result))
    outcome = pegaflow("warm", "--json")
    assert outcome.code == 130
    assert outcome.json("operated")["blocks"] == 30


def test_ctrl_c_twice_leaves_at_once(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon(KeyboardInterrupt(), KeyboardInterrupt())
    outcome = pegaflow("warm")
    assert (outcome.code, outcome.out) == (130, "")
    assert pegaflow.daemon.begun[0].cancelled


def test_a_daemon_that_ends_it_is_a_failure(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon(json.dumps(warmed(cancelled=True, blocks=30, bytes=30 * MIB)))
    outcome = pegaflow("warm")
    assert outcome.code == 1
    assert outcome.out.startswith("30 blocks (30 MiB) loaded")
    assert "the daemon ended it early" in outcome.err


@pytest.mark.parametrize(
    ("error", "code"), [(Refused("no ssd tier"), 1), (CallTimeout("no sign of life"), 4)]
)
def test_scripts_tell_failures_by_exit_code(
    pegaflow: CommandLine, error: Exception, code: int
) -> None:
    pegaflow.daemon = _daemon(_progress(1), error)
    outcome = pegaflow("warm", "--json")
    assert (outcome.code, outcome.out, outcome.err) == (code, "", f"pegaflow: {error}\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--from", "tape"], "--from 'tape' cannot be used; allowed: ssd"),
        (["--limit", "most"], "--limit 'most' cannot be used; allowed: a part such as 50%"),
        (["--limit", "0"], "--limit '0' cannot be used"),
        (["--order", "random"], "--order 'random' cannot be used; allowed: recent, frequent"),
        (["--rate", "fast"], "--rate 'fast' cannot be used; allowed: a size such as"),
        (["--timeout", "soon"], "--timeout 'soon' cannot be used"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(
    pegaflow: CommandLine, args: list[str], said: str
) -> None:
    pegaflow.daemon = _daemon()
    outcome = pegaflow("warm", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert pegaflow.daemon.operations == []


def test_without_a_daemon_it_is_unreachable(pegaflow: CommandLine) -> None:
    assert pegaflow("warm").code == 3
