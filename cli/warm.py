"""``pegaflow warm``."""

from typing import Annotated, Any

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell
from pegaflow.cli.options import (
    ConfigFile,
    Json,
    Silence,
    Socket,
    amount_field,
    one_of,
    size_field,
)
from pegaflow.namespaces import parse_prefix
from pegaflow.units import AMOUNT_FORM, format_count, format_duration, format_size

_TIERS = ("ssd",)
_ORDERS = ("recent", "frequent")
_OTHERS = {
    "present": "in memory already",
    "no_room": "found no room",
    "failed": "could not be read",
}
"""What became of blocks that were not loaded; those that came in another way are no news."""


def warm(
    ctx: typer.Context,
    tier: Annotated[
        str, typer.Option("--from", metavar="TIER", help="Where the blocks are: ssd.")
    ] = "ssd",
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            metavar="PREFIX",
            help="Only blocks of this namespace; its first digits will do.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="AMOUNT",
            help=f"At most so much of the pool: {AMOUNT_FORM}.",
            show_default=False,
        ),
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            "--order",
            metavar="ORDER",
            help="recent: those written last first; frequent: those read most often first, of "
            "which a restart forgets all reads since a block was last moved on the disk.",
        ),
    ] = "recent",
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="SIZE", help="At most so many bytes a second.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be loaded.")
    ] = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Load blocks from the ssd tier into memory.

    It fills free memory and evicts nothing that is used; the daemon serves meanwhile, and requests
    come first. Ctrl-C ends it and keeps what is loaded; run again, it goes on with the rest.
    """
    context: AppContext = ctx.obj
    fields = {
        "from": one_of("--from", tier, _TIERS),
        "namespace": None if namespace is None else parse_prefix(namespace),
        "limit": amount_field("--limit", limit) if limit is not None else None,
        "order": one_of("--order", order, _ORDERS),
        "rate_bytes_per_s": size_field("--rate", rate) if rate is not None else None,
        "dry_run": dry_run,
    }
    client = daemon(context, socket, config, timeout)
    warmed = operate(context, client, "warm", "warm", fields, delay_s=0)
    tell(context, warmed, _sentence, json=json)


def _sentence(warmed: dict[str, Any]) -> str:
    if warmed["dry_run"]:
        planned = format_count(warmed["planned_blocks"], "block")
        size = format_size(warmed["planned_bytes"])
        text = f"{planned} ({size}) would be loaded, as far as there is room"
    else:
        rate = format_size(int(warmed["bytes"] / max(warmed["seconds"], 1e-3)))
        loaded = format_count(warmed["blocks"], "block")
        text = (
            f"{loaded} ({format_size(warmed['bytes'])}) loaded within "
            f"{format_duration(warmed['seconds'])} ({rate}/s)"
        )
    others = [
        f"{format_count(warmed[f'{key}_blocks'], 'block')} {what}"
        for key, what in _OTHERS.items()
        if warmed[f"{key}_blocks"]
    ]
    if warmed["limited"]:
        others.append("the limit leaves out what would be next")
    return "; ".join([text, *([", ".join(others)] if others else [])])
