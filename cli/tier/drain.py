"""``pegaflow tier drain``."""

from typing import Any

import typer

from pegaflow.cli.confirmation import Yes, confirm
from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket
from pegaflow.cli.tier import evict
from pegaflow.cli.tier.target import Path, Tier, held_bytes, name_of, target
from pegaflow.tiers import parts_of
from pegaflow.units import format_count, format_size


def drain(
    ctx: typer.Context,
    tier: Tier,
    path: Path = None,
    yes: Yes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Empty a tier, once the other one has what it has room for.

    memory: write what is not on ssd yet to it, then evict all. ssd: load what memory has room for,
    then evict all. What engines save meanwhile comes in as ever.
    """
    context: AppContext = ctx.obj
    tier, where = target(tier, path)
    client = daemon(context, socket, config, timeout)
    parts = parts_of(client.status(), tier, where)
    name, used = name_of(tier, parts), format_size(held_bytes(parts))
    other = "ssd" if tier == "memory" else "memory"
    confirm(context, f"{used} in {name} go, but for what {other} has room for", name, yes=yes)
    fields = {"tier": tier, "path": where}
    drained = operate(context, client, f"drain {name}", "tier-drain", fields)
    tell(context, drained, _sentence, json=json)


def _sentence(drained: dict[str, Any]) -> str:
    other = "written to ssd" if drained["tier"] == "memory" else "loaded into memory"
    copied = format_size(drained["copied_bytes"])
    return f"{format_count(drained['copied_blocks'], 'block')} ({copied}) {other}; " + (
        evict.sentence(drained, _reason(drained))
    )


def _reason(drained: dict[str, Any]) -> str:
    no_room, kept = drained["no_room_blocks"], drained["kept_blocks"]
    if not no_room:
        return evict.IN_USE
    if no_room >= kept:
        return "ssd has no room"
    return f"for {no_room:,} ssd has no room, the others are {evict.IN_USE}"
