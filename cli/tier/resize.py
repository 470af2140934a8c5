"""``pegaflow tier resize``."""

import json as jsons
from typing import Annotated, Any

import typer

from pegaflow.cli.confirmation import Yes, confirm
from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell, warn
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket, size_field
from pegaflow.cli.tier.target import Path, Tier, target
from pegaflow.tiers import TierPart, parts_of
from pegaflow.units import SIZE_FORM, format_count, format_size


def resize(
    ctx: typer.Context,
    tier: Tier,
    size: Annotated[str, typer.Argument(metavar="SIZE", help=f"{SIZE_FORM}.")],
    path: Path = None,
    yes: Yes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Give a tier another size.

    It holds until the daemon's next start. A smaller one evicts what is coldest, after a
    confirmation. The ssd tier's path may be left out where there is one only.
    """
    context: AppContext = ctx.obj
    (tier, where), size_bytes = target(tier, path), size_field("SIZE", size)
    client = daemon(context, socket, config, timeout)
    (part,) = parts_of(client.status(), tier, where, single=True)
    fields: dict[str, Any] = {"tier": tier, "path": where, "size_bytes": size_bytes}
    if size_bytes < part.capacity_bytes and not yes:
        # Nobody is asked for what is not possible.
        dry = fields | {"dry_run": True}
        asked = operate(context, client, f"resize {part.name}", "tier-resize", dry)
        smaller = format_size(jsons.loads(asked.text)["size_bytes"])
        sizes = f"{format_size(part.capacity_bytes)} to {smaller}"
        loss = f"{part.name} shrinks from {sizes}; what does not fit is evicted"
        confirm(context, loss, part.name, yes=yes)
    resized = operate(context, client, f"resize {part.name}", "tier-resize", fields)
    result = tell(context, resized, lambda result: _sentence(part, size_bytes, result), json=json)
    warn(context, result)


def _sentence(part: TierPart, asked_bytes: int, resized: dict[str, Any]) -> str:
    size, before = format_size(resized["size_bytes"]), format_size(resized["before_bytes"])
    text = f"{part.name} has {size}, before {before}"
    if resized["size_bytes"] != asked_bytes and not resized["cancelled"]:
        why = "it has sizes of whole slabs only" if part.tier == "memory" else "another resize won"
        text += f"; {format_size(asked_bytes)} were asked for, {why}"
    if resized["evicted_blocks"]:
        text += f", {format_count(resized['evicted_blocks'], 'block')} evicted"
    return text
