"""``pegaflow bench``: what it prints, and what it refuses."""

import sys
from pathlib import Path

import pytest

from tests.cli.command_line import CommandLine


def test_transfers_without_a_gpu_fit_the_schema(pegaflow: CommandLine) -> None:
    outcome = pegaflow("bench", "transfer", "--quick", "--device", "cpu", "--json")
    assert outcome.code == 0
    document = outcome.json("bench-transfer")
    assert document["device"] == "cpu"
    assert all(layout["batch_save_gb_s"] is None for layout in document["layouts"])
    assert all(line.startswith("pegaflow: ") for line in outcome.err.splitlines())


def test_a_device_that_is_not_known_is_refused(pegaflow: CommandLine) -> None:
    outcome = pegaflow("bench", "transfer", "--device", "tpu")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--device 'tpu' is not known; allowed are auto, cpu and cuda" in outcome.err


def test_a_gpu_without_cupy_is_answered_with_what_to_install(
    pegaflow: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    outcome = pegaflow("bench", "transfer", "--device", "cuda")
    assert (outcome.code, outcome.out) == (2, "")
    assert "pip install 'pegaflow-kv[gpu13]'" in outcome.err


@pytest.mark.parametrize("command", ["ttft", "restart", "sharing"])
def test_an_interpreter_without_vllm_is_answered_with_what_to_install(
    pegaflow: CommandLine, command: str
) -> None:
    outcome = pegaflow("bench", command, "--quick")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{sys.executable} has no vLLM" in outcome.err
    assert "pip install 'pegaflow-kv[vllm]'" in outcome.err


@pytest.mark.parametrize("command", ["ttft", "restart", "sharing"])
def test_an_interpreter_that_is_none_is_refused(
    pegaflow: CommandLine, command: str, tmp_path: Path
) -> None:
    outcome = pegaflow("bench", command, "--python", str(tmp_path / "python"))
    assert outcome.code == 2
    assert "cannot be used as a Python interpreter" in outcome.err


@pytest.mark.parametrize("text", ["{", "[]", "1"])
def test_engine_arguments_that_are_no_object_are_refused(pegaflow: CommandLine, text: str) -> None:
    outcome = pegaflow("bench", "ttft", "--engine-args", text)
    assert outcome.code == 2
    assert f"--engine-args {text!r} is not" in outcome.err
