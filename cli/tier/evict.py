"""``pegaflow tier evict``."""

from typing import Annotated, Any

import typer

from pegaflow.cli.confirmation import Yes, confirm
from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket, amount_field
from pegaflow.cli.tier.target import Path, Tier, held_bytes, name_of, target
from pegaflow.tiers import parts_of
from pegaflow.units import AMOUNT_FORM, format_count, format_size

IN_USE = "in use or pinned"
"""Why blocks stay that were to go."""


def evict(
    ctx: typer.Context,
    tier: Tier,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help=f"{AMOUNT_FORM}; 100% is all.")],
    path: Path = None,
    yes: Yes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Evict the coldest blocks of a tier, after a confirmation.

    Blocks in use and those of pinned namespaces stay.
    """
    context: AppContext = ctx.obj
    tier, where = target(tier, path)
    fields = {"tier": tier, "path": where, "amount": amount_field("AMOUNT", amount)}
    client = daemon(context, socket, config, timeout)
    parts = parts_of(client.status(), tier, where)
    name, used = name_of(tier, parts), format_size(held_bytes(parts))
    confirm(context, f"{amount} of {used} in {name} go", name, yes=yes)
    evicted = operate(context, client, f"evict {name}", "tier-evict", fields)
    tell(context, evicted, sentence, json=json)


def sentence(evicted: dict[str, Any], reason: str = IN_USE) -> str:
    """What went, and what stayed for which reason."""
    text = f"{format_count(evicted['blocks'], 'block')} ({format_size(evicted['bytes'])}) evicted"
    if evicted["kept_blocks"]:
        kept = format_size(evicted["kept_bytes"])
        text += f"; {format_count(evicted['kept_blocks'], 'block')} ({kept}) kept: {reason}"
    return text
