"""The only writer of results, to standard output, and of messages, to standard error."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from pegaflow.cli.context import AppContext
from pegaflow.cli.escapes import ESCAPED
from pegaflow.errors import PegaflowError
from pegaflow.file_names import daemon_json
from pegaflow.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def write_line(context: AppContext, text: str) -> None:
    """One line of a result."""
    with _writing():
        print(text, file=context.stdout, flush=True)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_results()
        raise PegaflowError(f"{unwritten(error)}; the command itself was done") from error


def unwritten(error: OSError) -> str:
    """Says that results cannot be written."""
    return f"standard output cannot be written: {error.strerror}"


def discard_results() -> None:
    """What could not be written is not tried again when the process ends."""
    _discard(sys.stdout)


def _discard(stream: TextIO | None) -> None:
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def can_redraw(context: AppContext, stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal that can move its cursor."""
    return stream.isatty() and context.environ.get("TERM", "dumb") != "dumb"


def columns(context: AppContext) -> int | None:
    """How wide the terminal is that results go to; None where they go elsewhere."""
    return _console(context, context.stdout).width if context.stdout.isatty() else None


def write_json(context: AppContext, name: str, document: Mapping[str, Any]) -> None:
    """A result as one JSON line; ``pegaflow/schemas/<name>.schema.json`` describes it."""
    text = daemon_json({"schema": f"pegaflow.{name}/1", **document})
    write_line(context, text.encode("ascii", ESCAPED).decode("ascii"))


def write_tables(context: AppContext, tables: Iterable["Table"]) -> None:
    """A result of tables, a blank line between them; coloured on a terminal."""
    console = _console(context, context.stdout)
    for number, table in enumerate(tables):
        with _writing(), console.capture() as capture:
            console.print(table)
        lines = [line.rstrip() for line in capture.get().splitlines()]
        write_line(context, "\n".join([""] * bool(number) + lines))


def table(*headers: str) -> "Table":
    """An empty table for ``write_tables``; without ``headers`` a grid."""
    from rich.table import Table

    return Table(
        *headers, box=None, show_header=bool(headers), pad_edge=False, padding=(0, 2, 0, 0)
    )


def note(context: AppContext, text: str) -> None:
    """A message for people, on one line of printable characters whatever it quotes.

    One that cannot be written changes nothing else: the exit code says what came of the command.
    """
    try:
        print(f"pegaflow: {printable(text)}", file=context.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def prompt(context: AppContext, text: str) -> None:
    """A question for people, who answer on the same line."""
    print(f"pegaflow: {text}", end="", file=context.stderr, flush=True)


def error_console(context: AppContext) -> "Console":
    """Standard error, for what moves on a terminal."""
    return _console(context, context.stderr)


def _console(context: AppContext, file: TextIO) -> "Console":
    from rich.console import Console

    # A pipe has no width: lines are never cut there.
    width = None if file.isatty() else 10_000
    # No terminal has that: whoever sets it does not know.
    unknown = ("COLUMNS", "0")
    return Console(
        file=file,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        _environ=dict(item for item in context.environ.items() if item != unknown),
    )
