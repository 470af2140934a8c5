"""``pegaflow stop``."""

import json

from pegaflow.errors import CallTimeout
from pegaflow.models import Stopped
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import status_document

FREE = {"pool_bytes_kept": 0, "pool_bytes_freed": 0}


def test_it_says_that_the_memory_is_free(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", stop_answer=Stopped(12, 0))
    outcome = pegaflow("stop")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "stopped (pid 12); its memory is free\n"


def test_it_says_how_much_memory_stays_taken_and_how_to_free_it(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", stop_answer=Stopped(12, 3 << 30))
    assert pegaflow("stop").out == (
        "stopped (pid 12); 3 GiB of memory stay taken for the next daemon, "
        "`pegaflow stop --purge` frees them\n"
    )


def test_the_remedy_names_the_pool_s_directory_if_it_was_given(pegaflow: CommandLine) -> None:
    document = status_document()
    document["config"]["pool_dir"] = "/mnt/huge pages"
    pegaflow.daemon = StandInDaemon(
        "/unused", status_answer=json.dumps(document), stop_answer=Stopped(12, 3 << 30)
    )
    assert "`pegaflow stop --purge --pool-dir '/mnt/huge pages'`" in pegaflow("stop").out


def test_the_memory_is_freed_only_when_asked_for(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", stop_answer=Stopped(12, 0))
    pegaflow("stop")
    pegaflow("stop", "--purge")
    assert pegaflow.daemon.purges == [False, True]


def test_scripts_get_a_document(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", stop_answer=Stopped(12, 0))
    document = pegaflow("stop", "--json").json("stopped")
    assert document == {"schema": "pegaflow.stopped/1", "pid": 12} | FREE


def test_without_a_daemon_it_fails_as_unreachable(pegaflow: CommandLine) -> None:
    outcome = pegaflow("stop")
    assert (outcome.code, outcome.out) == (3, "")


def test_what_an_ended_daemon_left_is_freed(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", left_bytes=3 << 30)
    outcome = pegaflow("stop", "--purge", "--pool-dir", "/mnt/huge")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "no daemon runs; 3 GiB that the last one had left are free\n"
    assert pegaflow.daemon.purged == ["/mnt/huge"]
    document = pegaflow("stop", "--purge", "--json").json("stopped")
    assert (document["pid"], document["pool_bytes_freed"]) == (None, 3 << 30)


def test_without_a_daemon_and_a_pool_there_is_nothing_to_free(pegaflow: CommandLine) -> None:
    outcome = pegaflow("stop", "--purge")
    assert (outcome.code, outcome.out) == (3, "")
    assert "none has left a pool" in outcome.err


def test_what_is_left_stays_unless_asked_for(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", left_bytes=3 << 30)
    assert pegaflow("stop").code == 3
    assert pegaflow.daemon.purged == []


def test_a_daemon_that_does_not_end_is_a_timeout(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", stop_answer=CallTimeout("pid 12 has not ended"))
    assert pegaflow("stop").code == 4
