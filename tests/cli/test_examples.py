"""The help of every command teaches by examples that the command line takes."""

import re
import shlex
from collections.abc import Iterator
from typing import Any, Final

import pytest
import typer

from pegaflow.cli.app import app
from pegaflow.cli.context import AppContext
from pegaflow.cli.examples import EXAMPLES, add_examples
from tests.cli.command_line import CommandLine

_EXAMPLE: Final = re.compile(r"^ +(?:[A-Z_]+=\S+ )?(pegaflow .*)$", re.MULTILINE)
_ENDS: Final = {"|", ">", "&&", "&"}


def _leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield words
        return
    for name, one in below.items():
        yield from _leaves(one, (*words, name))


ROOT: Final[Any] = typer.main.get_command(app)
add_examples(ROOT)
COMMANDS: Final = list(_leaves(ROOT))
GROUPS: Final = sorted({words[:-1] for words in COMMANDS})


def _examples(words: tuple[str, ...], said: str) -> list[list[str]]:
    found = [shlex.split(line) for line in _EXAMPLE.findall(said)]
    cut = [
        example[: next((at for at, word in enumerate(example) if word in _ENDS), len(example))]
        for example in found
    ]
    return [example[1:] for example in cut if tuple(example[1 : 1 + len(words)]) == words]


def _parse(args: list[str]) -> None:
    """Refuses what the command line refuses, and runs nothing."""
    command, context, rest = ROOT, None, args
    name: str | None = "pegaflow"
    while True:
        if not hasattr(command, "commands"):
            command.make_context(name, rest, parent=context)
            return
        context = command.make_context(
            name, rest, parent=context, obj=AppContext(), ignore_unknown_options=True
        )
        name, command, rest = command.resolve_command(context, rest)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_that_it_takes(
    pegaflow: CommandLine,
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert pegaflow(*words, "--help").code == 0
    examples = _examples(words, capsys.readouterr().out)
    assert examples
    for example in examples:
        _parse(example)


def test_a_mistake_in_an_example_would_be_seen() -> None:
    with pytest.raises(typer.TyperException, match="--moon"):
        _parse(["tier", "list", "--moon"])


def test_there_is_no_example_of_a_command_that_is_none() -> None:
    assert EXAMPLES.keys() <= {"", *(" ".join(words) for words in COMMANDS)}


def test_help_without_a_command_has_examples_that_are_taken(
    pegaflow: CommandLine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert pegaflow("--help").code == 0
    examples = _examples((), capsys.readouterr().out)
    assert {example[0] for example in examples} >= {"serve", "vllm", "status"}
    for example in examples:
        _parse(example)


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_lists_of_commands_have_whole_sentences(
    pegaflow: CommandLine,
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert pegaflow(*words, "--help").code == 0
    _, _, listed = capsys.readouterr().out.partition("Commands:\n")
    assert listed and not re.search(r"\.\.\.$", listed, re.MULTILINE)
