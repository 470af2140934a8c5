"""``pegaflow tier list``."""

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout
from pegaflow.cli.output import table, write_json, write_line, write_tables
from pegaflow.tiers import parts
from pegaflow.units import format_size


def listing(
    ctx: typer.Context,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """List the tiers and how they do.

    Where they are, how large, how full, and what is wrong with them. An ssd path's files stay
    used when blocks go: they are filled again, and a smaller size deletes them.
    """
    context: AppContext = ctx.obj
    found = parts(daemon(context, socket, config, timeout).status())
    if json:
        write_json(context, "tiers", {"tiers": [part.document() for part in found]})
        return
    tiers = table("tier", "state", "cached", "used", "size", "blocks", "where")
    for part in found:
        tiers.add_row(
            part.tier,
            part.state,
            format_size(part.cached_bytes),
            format_size(part.used_bytes),
            format_size(part.capacity_bytes),
            f"{part.blocks:,}",
            part.path or "anonymous memory",
        )
    write_tables(context, [tiers])
    for part in found:
        if part.reason:
            write_line(context, f"{part.name}: {part.reason}")
