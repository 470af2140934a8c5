"""The only writer of results, to standard output, and of messages, to standard error."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pegaflow.cli.context import AppContext

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def write_line(context: AppContext, text: str) -> None:
    """One line of a result."""
    print(text, file=context.stdout, flush=True)


def write_json(context: AppContext, name: str, document: Mapping[str, Any]) -> None:
    """A result as one JSON line; ``pegaflow/schemas/<name>.schema.json`` describes it."""
    write_line(context, json.dumps({"schema": f"pegaflow.{name}/1", **document}))


def write_rich(context: AppContext, parts: Iterable["RenderableType"]) -> None:
    """A result with tables, coloured on a terminal."""
    console = _console(context)
    for part in parts:
        console.print(part)


def note(context: AppContext, text: str) -> None:
    """A message for people."""
    print(f"pegaflow: {text}", file=context.stderr, flush=True)


def _console(context: AppContext) -> "Console":
    from rich.console import Console

    # A pipe has no width: lines are never cut there.
    width = None if context.stdout.isatty() else 10_000
    return Console(file=context.stdout, width=width, highlight=False, _environ=context.environ)
