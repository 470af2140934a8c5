"""``pegaflow version``."""

import platform

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import Json
from pegaflow.cli.output import write_json, write_line
from pegaflow.version import VERSION


def version(ctx: typer.Context, json: Json = False) -> None:
    """Show the versions in use."""
    from pegaflow import _native

    context: AppContext = ctx.obj
    python = platform.python_version()
    if json:
        document = {"pegaflow": VERSION, "native": _native.VERSION, "python": python}
        write_json(context, "version", document)
    else:
        write_line(context, f"pegaflow {VERSION} (native {_native.VERSION}, Python {python})")
