"""``pegaflow stop``."""

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, setting, timeout_seconds
from pegaflow.cli.output import write_json, write_line
from pegaflow.config import load, resolve_socket
from pegaflow.errors import Unreachable
from pegaflow.models import Stopped
from pegaflow.units import format_size

if TYPE_CHECKING:
    from pegaflow.client import Client


def stop(
    ctx: typer.Context,
    purge: Annotated[
        bool, typer.Option("--purge", help="Free the memory of the cache too.")
    ] = False,
    socket: Socket = None,
    pool_dir: Annotated[str | None, setting("pool_dir")] = None,
    config: ConfigFile = None,
    timeout: Timeout = "30s",
    json: Json = False,
) -> None:
    """Stop the daemon.

    It finishes the transfers in flight; this returns when its process has ended. Engines go on
    without cache until a daemon is there again, which has the blocks of this one. `--purge` frees
    their memory, also when the daemon has ended before.
    """
    context: AppContext = ctx.obj
    address = resolve_socket(socket, config=config, environ=context.environ)
    client = context.connect(address, timeout_seconds(timeout))
    try:
        stopped = client.stop(purge=purge)
    except Unreachable:
        if not purge:
            raise
        loaded = load({"pool_dir": pool_dir}, config=config, environ=context.environ)
        stopped = _purge(client, loaded.config.pool_dir)
    if json:
        write_json(context, "stopped", dataclasses.asdict(stopped))
    elif stopped.pid is None:
        freed = format_size(stopped.pool_bytes_freed)
        write_line(context, f"no daemon runs; {freed} that the last one had left are free")
    elif stopped.pool_bytes_kept:
        kept = format_size(stopped.pool_bytes_kept)
        write_line(
            context,
            f"stopped (pid {stopped.pid}); {kept} of memory stay taken for the next daemon, "
            "`pegaflow stop --purge` frees them",
        )
    else:
        write_line(context, f"stopped (pid {stopped.pid}); its memory is free")


def _purge(client: "Client", pool_dir: str | None) -> Stopped:
    """Free what the last daemon left; raises ``Unreachable`` again when it left nothing."""
    freed = client.purge(pool_dir)
    if freed == 0:
        raise Unreachable(
            f"no daemon answers on {client.socket}, and none has left a pool there to free"
        )
    return Stopped(pid=None, pool_bytes_kept=0, pool_bytes_freed=freed)
