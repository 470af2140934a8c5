"""``pegaflow tier add-path`` and ``remove-path``."""

from typing import Annotated, Any

import typer

from pegaflow.cli.confirmation import Yes, confirm
from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell, warn
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket, path_field
from pegaflow.config.ssd import SsdPath
from pegaflow.errors import ConfigError
from pegaflow.tiers import parts_of
from pegaflow.units import format_count, format_size


def add(
    ctx: typer.Context,
    path: Annotated[
        str, typer.Argument(metavar="PATH=SIZE", help="Such as /mnt/nvme1/pegaflow=500GiB.")
    ],
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Evict what it holds and has no room for."),
    ] = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Give the ssd tier one more path, or its first one.

    It holds until the daemon's next start. Blocks of an earlier daemon that are there are found
    again. A path that holds more than its new size is added with --yes only.
    """
    context: AppContext = ctx.obj
    try:
        new = SsdPath.parse(path)
    except ValueError as error:
        raise ConfigError(
            f"PATH=SIZE {path!r} cannot be used; allowed: a directory from / on with the bytes "
            "that it may take, such as /mnt/nvme1/pegaflow=500GiB"
        ) from error
    client = daemon(context, socket, config, timeout)
    fields: dict[str, Any] = {"path": new.path, "size_bytes": new.capacity_bytes}
    if yes:
        fields["evict"] = True
    added = operate(context, client, f"add {new.path}", "tier-add-path", fields)
    warn(context, tell(context, added, _added, json=json))


def remove(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The directory, from / on.")],
    delete_files: Annotated[
        bool, typer.Option("--delete-files", help="Delete its files, after a confirmation.")
    ] = False,
    yes: Yes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Take a path from the ssd tier.

    It holds until the daemon's next start. What is on its way to the disk is written first. Its
    files stay, unless they are to be deleted, and `pegaflow tier add-path` finds their blocks
    again. Where files cannot be deleted, or the path is offline, the path goes all the same, and
    the command says which files stay and ends with exit code 1.
    """
    context: AppContext = ctx.obj
    where = path_field("PATH", path)
    client = daemon(context, socket, config, timeout)
    (part,) = parts_of(client.status(), "ssd", where)
    if delete_files:
        used = format_size(part.used_bytes)
        confirm(context, f"{used} of files in {where} are deleted", where, yes=yes)
    fields = {"path": where, "delete_files": delete_files}
    removed = operate(context, client, f"remove {where}", "tier-remove-path", fields)
    tell(context, removed, lambda result: _removed(result, delete_files), json=json)


def _added(added: dict[str, Any]) -> str:
    blocks, size = format_count(added["blocks"], "block"), format_size(added["bytes"])
    text = f"{added['path']} is there, with {blocks} ({size})"
    if added["evicted_blocks"]:
        evicted = format_count(added["evicted_blocks"], "block")
        text += f"; {evicted} had no room and went"
    return text


def _removed(removed: dict[str, Any], delete_files: bool) -> str:
    fate = "deleted" if delete_files else "still in its files"
    blocks = f"{format_count(removed['blocks'], 'block')} ({format_size(removed['bytes'])})"
    return f"{removed['path']} is gone, with {blocks}, {fate}"
