"""``pegaflow stop``."""

import dataclasses
from typing import Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, timeout_seconds
from pegaflow.cli.output import write_json, write_line
from pegaflow.config import resolve_socket
from pegaflow.units import format_size


def stop(
    ctx: typer.Context,
    purge: Annotated[
        bool, typer.Option("--purge", help="Free the memory of the cache too.")
    ] = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "30s",
    json: Json = False,
) -> None:
    """Stop the daemon.

    It finishes the transfers in flight; this returns when its process has ended. Engines go on
    without cache until a daemon is there again.
    """
    context: AppContext = ctx.obj
    address = resolve_socket(socket, config=config, environ=context.environ)
    stopped = context.connect(address, timeout_seconds(timeout)).stop(purge=purge)
    if json:
        write_json(context, "stopped", dataclasses.asdict(stopped))
    elif stopped.pool_bytes_kept:
        kept = format_size(stopped.pool_bytes_kept)
        write_line(
            context,
            f"stopped (pid {stopped.pid}); {kept} of memory stay taken for the next daemon, "
            "`pegaflow stop --purge` frees them",
        )
    else:
        write_line(context, f"stopped (pid {stopped.pid}); its memory is free")
