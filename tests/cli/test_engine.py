"""``pegaflow engine``."""

import json
from typing import Any

import pytest

from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import operated, status_document
from tests.cli.golden import golden
from tests.cli.installed import Host
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import EngineMemory, Shape


def three_engines(**results: Any) -> StandInDaemon:
    """A daemon with three engines, which gives these results of operations."""
    (engine,) = status_document()["engines"]
    engines = [
        engine,
        engine | {"engine_id": "engine-b-long-name", "complete": False, "worker_pids": [103]},
        engine | {"engine_id": "other", "scheduler_pid": None, "model": ""},
    ]
    document = status_document(engines=engines)
    return StandInDaemon("/unused", status_answer=json.dumps(document), results=results)


def _evicted(engine: str) -> dict[str, Any]:
    return operated("engine-evict", engine=engine, sessions=3, leases=1)


def test_people_see_each_engine(pegaflow: CommandLine) -> None:
    pegaflow.daemon = three_engines()
    outcome = pegaflow("engine", "list")
    assert (outcome.code, outcome.out, outcome.err) == (0, golden("engine_list.txt"), "")


def test_scripts_see_each_engine(pegaflow: CommandLine) -> None:
    pegaflow.daemon = three_engines()
    document = pegaflow("engine", "list", "--json").json("engines")
    assert [engine["engine_id"] for engine in document["engines"]] == [
        "engine-a",
        "engine-b-long-name",
        "other",
    ]


def test_evicting_is_confirmed_with_the_name(pegaflow: CommandLine) -> None:
    pegaflow.daemon = three_engines(**{"engine-evict": _evicted("engine-b-long-name")})
    outcome = pegaflow("engine", "evict", "engine-b", typed="engine-b-long-name\n")
    assert outcome.code == 0
    assert outcome.err == (
        "pegaflow: engine engine-b-long-name (some/model) loses 2 sessions. "
        "Type engine-b-long-name to do it: "
    )
    assert outcome.out == (
        "3 sessions of engine engine-b-long-name ended, with 1 lease; its blocks stay\n"
    )
    assert pegaflow.daemon.operations == [
        {"operation": "engine-evict", "engine": "engine-b-long-name"}
    ]


def test_all_sessions_of_engines_with_one_id_are_counted(pegaflow: CommandLine) -> None:
    (engine,) = status_document()["engines"]
    twin = engine | {"scheduler_pid": 7, "worker_pids": [8]}
    pegaflow.daemon = StandInDaemon(
        "/unused",
        status_answer=json.dumps(status_document(engines=[engine, twin])),
        results={"engine-evict": _evicted("engine-a")},
    )
    count = 1 + len(engine["worker_pids"]) + 2
    outcome = pegaflow("engine", "evict", "engine-a", typed="engine-a\n")
    assert f"loses {count} sessions." in outcome.err


def test_a_long_name_is_asked_for_in_part(pegaflow: CommandLine) -> None:
    (engine,) = status_document()["engines"]
    name = "0123456789abcdef0123456789abcdef"
    document = status_document(engines=[engine | {"engine_id": name}])
    results = {"engine-evict": _evicted(name)}
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(document), results=results)
    assert pegaflow("engine", "evict", "0123", typed="0123456789ab\n").code == 0


def test_without_the_name_nothing_ends(pegaflow: CommandLine) -> None:
    pegaflow.daemon = three_engines(**{"engine-evict": _evicted("other")})
    assert pegaflow("engine", "evict", "other", typed="yes\n").code == 1
    assert pegaflow("engine", "evict", "other").code == 2
    assert pegaflow.daemon.operations == []


def test_scripts_get_the_result_as_it_came(pegaflow: CommandLine) -> None:
    pegaflow.daemon = three_engines(**{"engine-evict": _evicted("other")})
    outcome = pegaflow("engine", "evict", "other", "--yes", "--json")
    assert outcome.json("operated") == _evicted("other")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("engine", "engine engine is one of engine-a, engine-b-long-name: give more of its name"),
        ("x", "no engine x is attached; attached: engine-a, engine-b-long-name, other"),
    ],
)
def test_a_name_that_is_none_says_which_there_are(
    pegaflow: CommandLine, name: str, said: str
) -> None:
    pegaflow.daemon = three_engines()
    outcome = pegaflow("engine", "evict", name, "--yes")
    assert (outcome.code, outcome.err) == (1, f"pegaflow: {said}\n")


def test_an_engine_of_a_real_daemon_is_ended_and_told(host: Host) -> None:
    host.serve()
    memory = EngineMemory(Shape(num_blocks=2, layers=1, segment_bytes=4 << 10))
    with AttachedEngine(host.socket, memory):
        (engine,) = host.status()["engines"]
        done = host.run("engine", "evict", engine["engine_id"], "--yes", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["sessions"] == 2
        told = host.run("events", "--kind", "engine", "--level", "warning").stdout
        assert told.count("was evicted by an operator") == 2
