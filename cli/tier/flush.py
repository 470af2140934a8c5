"""``pegaflow tier flush``."""

from typing import Any

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket
from pegaflow.cli.tier.target import Tier, target
from pegaflow.units import format_count, format_size


def flush(
    ctx: typer.Context,
    tier: Tier,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Bring what a tier has to where it is safer.

    memory: write what is not on ssd yet to it. ssd: wait until what is on its way to the disks
    outlives a loss of power.
    """
    context: AppContext = ctx.obj
    tier, _ = target(tier, None)
    client = daemon(context, socket, config, timeout)
    flushed = operate(context, client, f"flush {tier}", "tier-flush", {"tier": tier})
    tell(context, flushed, _sentence, json=json)


def _sentence(flushed: dict[str, Any]) -> str:
    if flushed["tier"] == "ssd":
        return "what was on its way to the disks is on them"
    written = format_count(flushed["blocks"], "block")
    return f"{written} ({format_size(flushed['bytes'])}) written to ssd"
