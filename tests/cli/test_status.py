"""``pegaflow status``: for people, for scripts, and its exit codes."""

import json
from typing import Any

import jsonschema
import pytest

from pegaflow.errors import CallTimeout, Refused, Unreachable
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import schema, ssd_path, status_document
from tests.cli.golden import golden


def daemon(**changes: Any) -> StandInDaemon:
    """A daemon with these changes of the tests' status."""
    return StandInDaemon("/unused", status_answer=json.dumps(status_document(**changes)))


def test_the_document_of_the_tests_fits_the_schema() -> None:
    jsonschema.validate(status_document(), schema("status"))


def test_people_see_state_pool_blocks_and_engines(pegaflow: CommandLine) -> None:
    pegaflow.daemon = daemon()
    outcome = pegaflow("status")
    assert outcome.out == golden("status.txt")
    assert (outcome.code, outcome.err) == (0, "")


def test_people_see_why_it_is_degraded_and_how_far_the_pool_is(pegaflow: CommandLine) -> None:
    pool = status_document()["pool"] | {
        "ready_bytes": 536870912,
        "path": None,
        "kind": "memfd",
        "fallback": "a pool of 1073741824 bytes does not fit in /dev/shm",
    }
    pegaflow.daemon = daemon(
        state="degraded",
        reasons=["the pool stays at 512 MiB: no memory"],
        pool=pool,
        ready_percent=50.0,
        blocks=dict.fromkeys(["requested", "memory", "ssd", "remote", "miss"], 0),
        gpus={"state": "none", "reason": "no driver", "pinned_bytes": 0, "devices": []},
        ssd=status_document()["ssd"]
        | {
            "paths": [
                ssd_path("/mnt/a", direct=False),
                ssd_path("/mnt/b", state="offline", reason="reading /mnt/b fails: I/O error"),
            ],
            "write_budget_bytes": 1 << 40,
            "write_budget_left_bytes": 1 << 39,
        },
        what_if=status_document()["what_if"] | {"points": []},
        recording=status_document()["recording"] | {"error": "No space left on device"},
        taken_over=None,
        engines=[],
        namespaces=[],
    )
    outcome = pegaflow("status")
    assert outcome.out == golden("status_degraded.txt")
    assert outcome.code == 5


def test_a_pool_that_was_resized_says_who_gave_it_its_size(pegaflow: CommandLine) -> None:
    pool = status_document()["pool"] | {"is_resized": True, "bytes": 1 << 29}
    pegaflow.daemon = daemon(pool=pool)
    (line,) = (line for line in pegaflow("status").out.splitlines() if "size: " in line)
    assert line.strip() == ("size: pegaflow tier resize, until the next start (--pool-size: 1 GiB)")


def test_an_ssd_tier_without_a_path_says_how_it_gets_one(pegaflow: CommandLine) -> None:
    pegaflow.daemon = daemon(ssd=status_document()["ssd"] | {"paths": [], "shortages": []})
    (line,) = (line for line in pegaflow("status").out.splitlines() if line.startswith("ssd"))
    assert line.split(maxsplit=1)[1].startswith("no path now; `pegaflow tier add-path")


def test_memory_on_several_nodes_is_told_by_node(pegaflow: CommandLine) -> None:
    nodes = [{"node": 0, "bytes": 1 << 29}, {"node": 1, "bytes": 1 << 28}]
    pegaflow.daemon = daemon(pool=status_document()["pool"] | {"nodes": nodes})
    (line,) = (line for line in pegaflow("status").out.splitlines() if line.startswith("numa"))
    assert line.split(maxsplit=1)[1] == "about 512 MiB on node 0, about 256 MiB on node 1"


def test_a_gpu_that_is_shared_through_mps_is_told(pegaflow: CommandLine) -> None:
    gpus = status_document()["gpus"]
    (device,) = gpus["devices"]
    pegaflow.daemon = daemon(gpus=gpus | {"devices": [device | {"is_shared_by_mps": True}]})
    assert "shared through MPS: copies may outlive a killed daemon" in pegaflow("status").out
    # Older daemons do not tell.
    del device["is_shared_by_mps"]
    pegaflow.daemon = daemon(gpus=gpus | {"devices": [device]})
    assert pegaflow("status").out == golden("status.txt")


def test_scripts_get_the_daemon_s_document_as_it_is(pegaflow: CommandLine) -> None:
    pegaflow.daemon = daemon()
    outcome = pegaflow("status", "--json")
    assert outcome.json("status") == status_document()
    assert (outcome.code, outcome.err) == (0, "")


def test_fields_of_newer_daemons_do_not_matter(pegaflow: CommandLine) -> None:
    pegaflow.daemon = daemon(moon_phase="full")
    assert pegaflow("status").out == golden("status.txt")


def test_a_document_of_another_form_is_an_error(pegaflow: CommandLine) -> None:
    pegaflow.daemon = daemon(pid="many")
    outcome = pegaflow("status")
    assert outcome.code == 1
    assert "status document cannot be read" in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(("count", "rows"), [(3, 4), (4, 2), (100, 2)])
def test_many_namespaces_without_blocks_are_one_row(
    pegaflow: CommandLine, count: int, rows: int
) -> None:
    (kept, *_) = status_document()["namespaces"]
    nothing = {"blocks": 0, "bytes": 0, "ssd_blocks": 0, "ssd_bytes": 0, "hits": 2, "misses": 3}
    empty = [kept | nothing | {"namespace": f"{one:064x}"} for one in range(count)]
    pegaflow.daemon = daemon(namespaces=[*empty, kept])
    told = pegaflow("status").out.partition("namespace     group")[2].splitlines()[1:]
    assert len(told) == rows
    if rows == 2:
        assert told[-1].split()[:2] == [str(count), "empty"]
        assert told[-1].split()[-3:-1] == [str(2 * count), str(3 * count)]


def test_a_terminal_of_no_columns_is_one_of_which_nothing_is_known(pegaflow: CommandLine) -> None:
    pegaflow.daemon, pegaflow.is_terminal = daemon(), True
    pegaflow.environ["COLUMNS"] = "0"
    assert pegaflow("status").out.startswith("daemon   ready")


@pytest.mark.parametrize("state", ["starting", "ready", "draining"])
def test_a_daemon_that_works_is_a_success(pegaflow: CommandLine, state: str) -> None:
    pegaflow.daemon = daemon(state=state)
    assert pegaflow("status", "--json").code == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [(Unreachable("x"), 3), (CallTimeout("x"), 4), (Refused("x"), 1)],
)
def test_scripts_tell_failures_by_exit_code(
    pegaflow: CommandLine, error: Exception, code: int
) -> None:
    assert isinstance(error, Unreachable | CallTimeout | Refused)
    pegaflow.daemon = StandInDaemon("/unused", status_answer=error)
    outcome = pegaflow("status", "--json")
    assert (outcome.code, outcome.out, outcome.err) == (code, "", "pegaflow: x\n")


def test_the_socket_and_the_timeout_are_those_asked_for(pegaflow: CommandLine) -> None:
    pegaflow.daemon = daemon()
    pegaflow("status", "--socket", "/run/a.sock", "--timeout", "250ms")
    pegaflow.environ["PEGAFLOW_SOCKET"] = "/run/b.sock"
    pegaflow("status")
    assert pegaflow.sockets == [("/run/a.sock", 0.25), ("/run/b.sock", 5.0)]


def test_a_timeout_that_is_none_is_a_usage_error(pegaflow: CommandLine) -> None:
    outcome = pegaflow("status", "--timeout", "soon")
    assert outcome.code == 2
    assert "--timeout 'soon' cannot be used; allowed: a duration such as" in outcome.err


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 4.2),
        ({"seen_blocks": 95}, 3.0),
        ({"points": []}, 3.0),
    ],
    ids=["the curve", "an early curve", "no points"],
)
def test_twice_the_pool_is_by_the_curve_or_else_by_what_came_back_too_late(
    pegaflow: CommandLine, changes: dict[str, Any], points: float
) -> None:
    pegaflow.daemon = daemon(what_if=status_document()["what_if"] | changes)
    assert f"twice the pool would hit {points} points more" in pegaflow("status").out


def test_a_rough_point_of_the_curve_says_nothing_of_twice_the_pool(pegaflow: CommandLine) -> None:
    what_if = status_document()["what_if"]
    for point in what_if["points"]:
        point["is_rough"] = True
    pegaflow.daemon = daemon(what_if=what_if)
    assert "twice the pool would hit 3.0 points more" in pegaflow("status").out
