"""``pegaflow restart``."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.detach import Announcement, start_detached, warn
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, timeout_seconds
from pegaflow.cli.output import note, write_json, write_line
from pegaflow.cli.waiting import waiting
from pegaflow.config import SETTINGS, load, resolve_socket
from pegaflow.errors import CallTimeout, PegaflowError, Unreachable
from pegaflow.units import format_size

if TYPE_CHECKING:
    from pegaflow.client import Client
    from pegaflow.config import Loaded
    from pegaflow.models import Status

_LOOK_AGAIN_S: Final = 0.05


def restart(
    ctx: typer.Context,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "30s",
    json: Json = False,
) -> None:
    """Restart the daemon with its settings; it keeps its cache.

    It finishes the transfers in flight first. Engines serve on without cache meanwhile. The new
    daemon runs in the background; one that a service manager started is started by it again.
    """
    context: AppContext = ctx.obj
    limit = timeout_seconds(timeout)
    address = resolve_socket(socket, config=config, environ=context.environ)
    with _one_after_another(address, limit):
        _restart(context, address, config, limit, json=json)


def remedy(error: typer.TyperException) -> str | None:
    """What to do instead of giving a restart a setting."""
    option, where = getattr(error, "option_name", None), getattr(error, "ctx", None)
    is_setting = option in {setting.flag for setting in SETTINGS.values()}
    if not is_setting or where is None or where.command_path != "pegaflow restart":
        return None
    return (
        "a restart keeps the daemon's settings, and `pegaflow stop` with "
        f"`pegaflow serve {option} ...` after it changes them"
    )


def _restart(
    context: AppContext, address: str, config: str | None, limit: float, *, json: bool
) -> None:
    client = context.connect(address, limit)
    before = client.status()
    # Before anything ends: what cannot be read must not cost a daemon.
    loaded = load(before.config.settings(), config=config, environ=context.environ)
    began = time.monotonic()
    with waiting(context, "restarting the daemon"):
        announcement = _replace(context, client, before, loaded)
    log_file = None
    if announcement is not None:
        warn(context, announcement.ready)
        log_file = announcement.log_file
    seconds = time.monotonic() - began
    document = _document(before, client.status(), seconds, log_file)
    if json:
        write_json(context, "restarted", document)
    else:
        write_line(context, _sentence(document))
    if before.pool.path is None:
        note(context, "the pool was anonymous memory, which ends with its daemon")


def _replace(
    context: AppContext, client: "Client", before: "Status", loaded: "Loaded"
) -> Announcement | None:
    """Another daemon in its place; None where a service manager has started it."""
    client.stop()
    if before.supervised:
        _wait_for_another(client, before)
        return None
    try:
        return start_detached(loaded, context.environ, client.timeout_s)
    except PegaflowError as error:
        raise type(error)(f"the old daemon has ended, and {error}") from error


@contextmanager
def _one_after_another(socket: str, limit_s: float) -> Iterator[None]:
    """Waits for the end of other restarts beside this socket: between two daemons there is none."""
    try:
        directory = os.open(Path(socket).parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        # No daemon is there either.
        yield
        return
    try:
        _lock(directory, socket, time.monotonic() + limit_s)
        yield
    finally:
        os.close(directory)


def _lock(directory: int, socket: str, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CallTimeout(
                    f"another restart of a daemon beside {socket} has not ended in time; give "
                    "more with --timeout, or end it"
                ) from None
            time.sleep(_LOOK_AGAIN_S)
        else:
            return


def _wait_for_another(client: "Client", before: "Status") -> None:
    deadline = time.monotonic() + client.timeout_s
    while True:
        try:
            if client.status().boot_id != before.boot_id:
                return
        except Unreachable:
            pass
        if time.monotonic() > deadline:
            raise CallTimeout(
                f"the daemon (pid {before.pid}) has ended, and the service manager has not started "
                f"another one within {client.timeout_s:g} s; ask it why"
            )
        time.sleep(_LOOK_AGAIN_S)


def _document(
    before: "Status", now: "Status", seconds: float, log_file: str | None
) -> dict[str, Any]:
    return {
        "pid_before": before.pid,
        "pid": now.pid,
        "boot_id": now.boot_id,
        "socket": now.socket,
        "http_addr": now.http_addr,
        "blocks_before": sum(space.blocks for space in before.namespaces),
        "blocks_kept": now.taken_over.blocks if now.taken_over else 0,
        "bytes_kept": now.taken_over.bytes if now.taken_over else 0,
        "seconds": round(seconds, 3),
        "supervised": now.supervised,
        "log_file": log_file,
    }


def _sentence(document: dict[str, Any]) -> str:
    text = (
        f"restarted within {document['seconds']:.1f} s (pid {document['pid_before']}, "
        f"now {document['pid']}); {document['blocks_kept']:,} of {document['blocks_before']:,} "
        f"blocks kept ({format_size(document['bytes_kept'])})"
    )
    return f"{text}, log {document['log_file']}" if document["log_file"] else text
