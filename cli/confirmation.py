"""Asking before something goes that cannot be had back."""

from typing import Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import prompt
from pegaflow.errors import ConfigError, PegaflowError

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


def confirm(context: AppContext, what: str, name: str, *, yes: bool) -> None:
    """Let the user type ``name``, which goes with ``what`` the sentence says.

    Raises ``PegaflowError`` for anything else typed, and ``ConfigError`` where nobody can type.
    """
    if yes:
        return
    if not context.stdin.isatty():
        raise ConfigError(f"{what}; standard input is no terminal to confirm it at: give --yes")
    prompt(context, f"{what}. Type {name} to do it: ")
    if _typed(context.stdin.readline().strip()) != _typed(name):
        raise PegaflowError(f"{name} was not typed; nothing was changed")


def _typed(text: str) -> bytes:
    """The bytes of ``text``, whatever the locale made of them."""
    return text.encode(errors="surrogateescape")
