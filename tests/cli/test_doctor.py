"""``pegaflow doctor``: on a machine made of files, on this one, and beside a daemon."""

import json
from pathlib import Path
from typing import Any

import jsonschema

from pegaflow.doctor.examination import Wanted, examine
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import schema
from tests.cli.golden import golden
from tests.cli.installed import Host
from tests.doctor.fake_machine import machine


def _document(host: Host, *args: str) -> tuple[int, dict[str, Any]]:
    done = host.run("doctor", "--json", *args)
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, schema("doctor"))
    assert done.stderr == ""
    return done.returncode, document


def _levels(document: dict[str, Any], check: str) -> list[str]:
    return [one["level"] for one in document["findings"] if one["check"] == check]


def test_this_machine_is_looked_at_without_a_daemon_and_without_vllm(host: Host) -> None:
    code, document = _document(host)
    problems = [one for one in document["findings"] if one["level"] == "problem"]
    assert (code, document["problems"]) == (5 if problems else 0, len(problems))
    assert all(one["evidence"] for one in document["findings"])
    assert all(one["remedy"] for one in problems)
    assert _levels(document, "daemon") == ["note"]
    assert _levels(document, "vllm") == ["note"]


def test_a_daemon_is_tried_with_a_round_trip_that_leaves_nothing(host: Host) -> None:
    host.serve()
    _, document = _document(host)
    assert _levels(document, "daemon") == ["ok"]
    assert _levels(document, "versions") == ["ok"]
    assert _levels(document, "round trip")[0] == "ok"
    status = host.status()
    assert (status["engines"], status["pool"]["used_bytes"]) == ([], 0)
    assert status["saves"]["blocks"] == status["loads"]["blocks"] == 8


def test_disks_that_are_asked_for_are_measured(host: Host) -> None:
    _, document = _document(host, "--disk", str(host.directory))
    (disk,) = [one for one in document["findings"] if one["check"] == "disk"]
    assert "/s and read at " in disk["evidence"]


def test_the_disks_of_a_running_daemon_are_measured(host: Host) -> None:
    directory = host.directory / "ssd"
    host.serve("--ssd", f"{directory}=64MiB")
    _, document = _document(host)
    (disk,) = [one for one in document["findings"] if one["check"] == "disk"]
    assert str(directory) in disk["text"]
    assert "/s and read at " in disk["evidence"]


def test_a_problem_has_an_exit_code_of_its_own(host: Host) -> None:
    code, document = _document(host, "--disk", str(host.directory / "nothing"))
    assert (code, _levels(document, "disk")) == (5, ["problem"])


def test_people_get_a_sentence_its_evidence_and_what_to_do(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    changes = {"/proc/sys/kernel/yama/ptrace_scope": "3"}
    pegaflow.machine = lambda environ: machine(tmp_path, changes, environ=environ)
    outcome = pegaflow("doctor", "--disk", "/nothing")
    assert outcome.code == 5
    assert golden("doctor_ptrace.txt") in outcome.out
    assert outcome.out.splitlines()[-1].startswith("2 problems, ")


def test_a_relative_directory_is_a_usage_error(pegaflow: CommandLine) -> None:
    outcome = pegaflow("doctor", "--disk", "here")
    assert outcome.code == 2
    assert "--disk 'here' cannot be used" in outcome.err


def test_what_takes_some_time_is_told_before_it_begins(tmp_path: Path) -> None:
    begun: list[str] = []
    wanted = Wanted(StandInDaemon("/unused"), str(tmp_path / "python"), (), ())
    list(examine(machine(tmp_path), wanted, begun.append))
    assert begun == ["daemon", "disks", "vllm"]
