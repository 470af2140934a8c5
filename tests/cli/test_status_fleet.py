"""``pegaflow status`` of several daemons."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from pegaflow.observe.sample import Sample
from pegaflow.observe.scripted import ScriptedSource
from tests.cli.command_line import CommandLine
from tests.cli.documents import schema
from tests.observe.clock import Clock
from tests.observe.http_daemon import http_daemon
from tests.observe.samples import sample


class Fixed(ScriptedSource):
    """A daemon with the status of the tests' documents."""

    def __init__(self, state: str) -> None:
        super().__init__("here", Clock(0), 0)
        self._state = state

    def read(self) -> Sample:
        reasons = ["ssd path /a is offline: gone"] if self._state == "degraded" else []
        return sample(state=self._state, reasons=reasons)


@pytest.fixture
def ready() -> Iterator[str]:
    with http_daemon(Fixed("ready")) as url:
        yield url


@pytest.fixture
def degraded() -> Iterator[str]:
    with http_daemon(Fixed("degraded")) as url:
        yield url


def test_people_see_a_line_for_each(pegaflow: CommandLine, ready: str, degraded: str) -> None:
    outcome = pegaflow("status", "--url", ready, "--url", degraded)
    lines = outcome.out.splitlines()
    assert " ".join(lines[0].split()) == "host state version up memory ssd hits engines"
    assert [line.split()[1] for line in lines[1:3]] == ["ready", "degraded"]
    assert lines[3].endswith(": ssd path /a is offline: gone")
    assert (outcome.code, outcome.err) == (5, "")


def test_scripts_get_each_document(pegaflow: CommandLine, ready: str) -> None:
    outcome = pegaflow("status", "--json", "--url", ready)
    (one,) = outcome.json("fleet")["hosts"]
    jsonschema.validate(one["status"], schema("status"))
    assert (outcome.code, one["error"]) == (0, None)


def test_one_that_does_not_answer_hides_no_other(
    pegaflow: CommandLine, ready: str, degraded: str
) -> None:
    args = ["--url", "127.0.0.1:1", "--url", ready, "--url", degraded]
    outcome = pegaflow("status", "--json", *args)
    gone, works, bad = outcome.json("fleet")["hosts"]
    assert outcome.code == 3
    assert (gone["status"], "does not answer" in gone["error"]) == (None, True)
    assert works["status"]["state"] == "ready"
    assert bad["status"]["state"] == "degraded"
    assert "no answer" in pegaflow("status", *args).out


@pytest.mark.parametrize("text", ["<html>", "[]", "null", "[" * 100_000, '{"schema": "a/2"}'])
def test_one_that_is_no_daemon_hides_no_other(pegaflow: CommandLine, ready: str, text: str) -> None:
    class Other(Fixed):
        def read(self) -> Sample:
            return replace(super().read(), status_json=text)

    with http_daemon(Other("ready")) as other:
        outcome = pegaflow("status", "--url", ready, "--url", other)
    assert [line.split()[1] for line in outcome.out.splitlines()[1:3]] == ["ready", "no"]
    assert (outcome.code, outcome.err.count("document cannot be read (it")) == (1, 1)


def test_the_hosts_of_the_configuration_are_asked(
    pegaflow: CommandLine, ready: str, tmp_path: Path
) -> None:
    (tmp_path / "pegaflow").mkdir()
    (tmp_path / "pegaflow/top.toml").write_text(f'[hosts]\ngpu-1 = "{ready}"\n', encoding="utf-8")
    pegaflow.environ["XDG_CONFIG_HOME"] = str(tmp_path)
    outcome = pegaflow("status", "--all", "--json")
    assert [one["host"] for one in outcome.json("fleet")["hosts"]] == ["gpu-1"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--all"], "--all finds no daemon"),
        (["--url", "a:1", "--socket", "/run/x.sock"], "--socket is of one daemon"),
        (["--url", "ftp://a"], "url 'ftp://a' cannot be used"),
    ],
)
def test_a_mistake_says_what_to_do(pegaflow: CommandLine, args: list[str], said: str) -> None:
    outcome = pegaflow("status", *args)
    assert (outcome.code, said in outcome.err) == (2, True)
