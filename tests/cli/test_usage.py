"""Help, mistakes in the command line, and the versions."""

import platform
import re

import pytest

from pegaflow.cli.exit_codes import ExitCode
from pegaflow.config import SETTINGS
from pegaflow.errors import ConfigError
from pegaflow.version import VERSION
from tests.cli.command_line import CommandLine


def test_the_exit_codes_are_those_that_scripts_rely_on() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "UNREACHABLE": 3,
        "TIMEOUT": 4,
        "PROBLEMS": 5,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["frobnicate"], "no such command 'frobnicate'"),
        (["serv"], "did you mean 'serve'"),
        (["serve", "--pool-sise", "1gb"], "no such option: --pool-sise"),
        (["serve", "extra"], "extra"),
        (["restart", "--pool-size", "1gb"], "with `pegaflow serve --pool-size ...` after it"),
        (["restart", "--moon"], "`pegaflow restart --help` lists what is allowed"),
        (["config"], "missing command"),
        (["stop", "--timeout"], "--timeout"),
        (["events", "--timeout", "0"], "--timeout '0' cannot be used; allowed: more than 0"),
        (["stop", "--timeout", "0s"], "--timeout '0s' cannot be used; allowed: more than 0"),
    ],
)
def test_a_mistake_in_the_command_line_is_one_line(
    pegaflow: CommandLine, args: list[str], said: str
) -> None:
    outcome = pegaflow(*args)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("pegaflow: ")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err.lower()


def test_help_goes_to_standard_output(
    pegaflow: CommandLine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for args in [[], ["--help"], ["-h"]]:
        assert pegaflow(*args).code == 0
        captured = capsys.readouterr()
        assert re.search("serve +Run the daemon that keeps the cache", captured.out)
        assert captured.err == ""


def test_serve_explains_every_setting(
    pegaflow: CommandLine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    pegaflow("serve", "--help")
    said = " ".join(capsys.readouterr().out.split())
    for setting in SETTINGS.values():
        assert setting.flag in said
        assert setting.variable in said
        assert " ".join(setting.help.split()) in said


@pytest.mark.parametrize("args", [["version"], ["--version"]])
def test_the_versions_are_told(pegaflow: CommandLine, args: list[str]) -> None:
    python = platform.python_version()
    assert pegaflow(*args).out == f"pegaflow {VERSION} (native {VERSION}, Python {python})\n"


def test_the_versions_are_told_to_scripts(pegaflow: CommandLine) -> None:
    document = pegaflow("version", "--json").json("version")
    assert (document["pegaflow"], document["native"]) == (VERSION, VERSION)


def test_a_keyboard_interrupt_has_its_own_code(
    pegaflow: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    pegaflow.serve = interrupt
    outcome = pegaflow("serve")
    assert (outcome.code, outcome.out) == (130, "")


def test_another_distribution_of_the_same_package_is_refused(
    pegaflow: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise ConfigError("pegaflow-llm 0.25.1 installs")

    monkeypatch.setattr("pegaflow.cli.app.refuse_strangers", refuse)
    outcome = pegaflow("version")
    assert (outcome.code, outcome.out) == (2, "")
