"""``pegaflow stop``."""

import dataclasses
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, setting, timeout_seconds
from pegaflow.cli.output import write_json, write_line
from pegaflow.cli.waiting import waiting
from pegaflow.config import load, resolve_socket
from pegaflow.errors import PegaflowError, Unreachable
from pegaflow.models import Stopped
from pegaflow.units import format_size

if TYPE_CHECKING:
    from pegaflow.client import Client


_LOOK_S: Final = 1.0
"""So long a daemon that is to be stopped may take to tell where its pool is."""


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
    limit = timeout_seconds(timeout)
    client = context.connect(address, limit)
    remedy = _remedy(context.connect(address, min(limit, _LOOK_S)))
    with waiting(context, "stopping the daemon, which finishes its transfers"):
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
            f"`{remedy}` frees them",
        )
    else:
        write_line(context, f"stopped (pid {stopped.pid}); its memory is free")


def _remedy(client: "Client") -> str:
    """The command that frees the pool of a daemon that has ended."""
    pool_dir = None
    # A daemon that does not tell it can still be stopped.
    with suppress(PegaflowError):
        pool_dir = client.status().config.pool_dir
    return shlex.join(
        ["pegaflow", "stop", "--purge"] + (["--pool-dir", pool_dir] if pool_dir else [])
    )


def _purge(client: "Client", pool_dir: str | None) -> Stopped:
    """Free what the last daemon left; raises ``Unreachable`` again when it left nothing."""
    freed = client.purge(pool_dir)
    if freed == 0:
        raise Unreachable(
            f"no daemon answers on {client.socket}, and none has left a pool there to free; if "
            "its pool was in another directory, name it with --pool-dir"
        )
    return Stopped(pid=None, pool_bytes_kept=0, pool_bytes_freed=freed)
