"""``pegaflow events``: of stand-in daemons, and of a real one."""

import json
import os
import signal
from dataclasses import asdict, dataclass, field
from typing import Any

import jsonschema
import pytest

from pegaflow.event_models import LoggedEvent
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import schema
from tests.cli.golden import golden
from tests.cli.installed import Host

BOOT = "0123456789abcdef"
EVENTS = [
    LoggedEvent(1, 1_700_000_000.0, "daemon", "ok", None, "the daemon started"),
    LoggedEvent(2, 1_700_000_060.0, "engine", "ok", "e1", "engine e1: scheduler attached"),
    LoggedEvent(3, 1_700_000_120.0, "path", "critical", "/a", "ssd path /a is offline: gone"),
    LoggedEvent(4, 1_700_000_180.0, "engine", "warning", "e1", "engine e1: scheduler is gone"),
]


@dataclass(frozen=True)
class LoggingDaemon(StandInDaemon):
    """A daemon with four events, of which it may have lost the first."""

    lost: int = 0
    waits: list[float] = field(default_factory=list)

    def events_json(self, after: int, wait_s: float) -> str:
        self.waits.append(wait_s)
        if wait_s:
            # Ctrl-C while it waits for more.
            raise KeyboardInterrupt
        found = [event for event in EVENTS if (event.sequence or 0) > max(after, self.lost)]
        document: dict[str, Any] = {
            "schema": "pegaflow.events/1",
            "boot_id": BOOT,
            "lost": max(self.lost - after, 0),
            "last": found[-1].sequence if found else after,
            "events": [asdict(event) for event in found],
        }
        return json.dumps(document)


def _texts(out: str) -> list[str]:
    documents = [json.loads(line) for line in out.splitlines()]
    for document in documents:
        jsonschema.validate(document, schema("event"))
    return [document["text"] for document in documents]


def test_people_see_time_level_kind_and_sentence(pegaflow: CommandLine) -> None:
    pegaflow.daemon = LoggingDaemon("/unused", lost=1)
    outcome = pegaflow("events")
    assert (outcome.code, outcome.out, outcome.err) == (0, golden("events.txt"), "")


@pytest.mark.parametrize(
    ("args", "numbers"),
    [
        ([], [1, 2, 3, 4]),
        (["--kind", "engine"], [2, 4]),
        (["--kind", "engine", "--kind", "path", "--level", "warning"], [3, 4]),
        (["--level", "critical"], [3]),
        (["--since", "1h"], []),
    ],
)
def test_what_is_not_asked_for_is_left_out(
    pegaflow: CommandLine, args: list[str], numbers: list[int]
) -> None:
    pegaflow.daemon = LoggingDaemon("/unused")
    outcome = pegaflow("events", "--json", *args)
    assert outcome.code == 0
    assert _texts(outcome.out) == [EVENTS[number - 1].text for number in numbers]


def test_what_is_lost_is_told_whatever_is_asked_for(pegaflow: CommandLine) -> None:
    pegaflow.daemon = LoggingDaemon("/unused", lost=2)
    outcome = pegaflow("events", "--json", "--kind", "daemon")
    assert _texts(outcome.out) == ["2 events not kept any more"]


def test_following_waits_for_more_until_ctrl_c(pegaflow: CommandLine) -> None:
    daemon = LoggingDaemon("/unused")
    pegaflow.daemon = daemon
    outcome = pegaflow("events", "--follow", "--json")
    assert outcome.code == 130
    assert _texts(outcome.out) == [event.text for event in EVENTS]
    assert daemon.waits == [0.0, 10.0]


@pytest.mark.parametrize(
    "args", [("--kind", "moon"), ("--level", "loud"), ("--since", "yesterday")]
)
def test_a_mistake_says_what_is_allowed(pegaflow: CommandLine, args: tuple[str, str]) -> None:
    outcome = pegaflow("events", *args)
    assert outcome.code == 2
    assert f"{args[0]} '{args[1]}' cannot be used; allowed: " in outcome.err


def test_the_kinds_are_those_of_the_schema() -> None:
    from pegaflow.cli.events import KINDS, LEVELS

    event = schema("events")["properties"]["events"]["items"]["properties"]
    assert set(KINDS) == set(event["kind"]["enum"])
    assert list(LEVELS) == event["level"]["enum"]


def test_a_follower_hears_of_the_next_daemon_too(host: Host) -> None:
    first = host.serve()
    follower = host.start("events", "--follow", "--json", "--timeout", "1s")
    assert follower.stdout is not None
    seen = [json.loads(follower.stdout.readline())]
    assert seen[0]["text"].startswith("the daemon started: version ")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = host.serve()
    while seen[-1]["kind"] != "restarted":
        seen.append(json.loads(follower.stdout.readline()))
    after = json.loads(follower.stdout.readline())
    assert f"pid {second.pid}," in after["text"]
    assert (after["sequence"], after["boot_id"]) == (1, host.status()["boot_id"])
    follower.send_signal(signal.SIGINT)
    _, errors = follower.communicate()
    assert follower.returncode == 130
    assert errors.count("waiting for a daemon") == 1


def test_a_reader_that_goes_away_is_a_success(host: Host) -> None:
    host.serve()
    done = host.run("events", around=("sh", "-c", '"$@" | head -n 1; exit', "sh"))
    assert (done.returncode, done.stderr) == (0, "")
