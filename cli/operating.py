"""Following an operation to its end, through Ctrl-C."""

import json as jsons
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.output import note, write_line
from pegaflow.cli.progress import ProgressDisplay
from pegaflow.errors import PegaflowError
from pegaflow.printable import printable

if TYPE_CHECKING:
    from pegaflow.client import Client
    from pegaflow.operation import Operation

_LONG_S: Final = 2.0
"""An operation that takes longer shows its progress."""


@dataclass(frozen=True)
class Operated:
    """An operation that has ended."""

    text: str
    """Its result, as it came."""
    is_interrupted: bool
    """Whether Ctrl-C ended it early."""


def operate(
    context: AppContext,
    client: "Client",
    title: str,
    name: str,
    fields: Mapping[str, Any],
    *,
    delay_s: float = _LONG_S,
) -> Operated:
    """Do the operation ``name``, and show its progress once it has taken ``delay_s`` seconds.

    Ctrl-C ends it early in the daemon, which tells what is done; once more leaves at once.
    """
    operation = client.operate(name, **fields)
    with ProgressDisplay(context, title, delay_s) as display:
        try:
            return Operated(_follow(operation, display), is_interrupted=False)
        except KeyboardInterrupt:
            display.say("ending it; Ctrl-C once more leaves at once")
            operation.cancel()
            return Operated(_follow(operation, display), is_interrupted=True)


def tell(
    context: AppContext,
    operated: Operated,
    sentence: Callable[[dict[str, Any]], str],
    *,
    json: bool,
) -> dict[str, Any]:
    """Write the result, as it is or in a ``sentence``; ends the command if it ended early.

    What is not printable in texts of the result is escaped, but for ``json``.
    """
    result: dict[str, Any] = _printed(jsons.loads(operated.text))
    if json:
        write_line(context, operated.text)
    else:
        early = "interrupted: " if operated.is_interrupted else ""
        write_line(context, early + sentence(result))
    if operated.is_interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if result["cancelled"]:
        raise PegaflowError("the daemon ended it early, because it is about to end itself")
    return result


def warn(context: AppContext, result: Mapping[str, Any]) -> None:
    """Tell people what is not as it should be with what was done."""
    for sentence in result["warnings"]:
        note(context, sentence)


def _printed(raw: Any) -> Any:
    """Parsed JSON whose texts can be written to a terminal."""
    if isinstance(raw, dict):
        return {name: _printed(value) for name, value in raw.items()}
    if isinstance(raw, list):
        return [_printed(value) for value in raw]
    return printable(raw) if isinstance(raw, str) else raw


def _follow(operation: "Operation", display: ProgressDisplay) -> str:
    while True:
        event = operation.next()
        if isinstance(event, str):
            return event
        display.update(event)
