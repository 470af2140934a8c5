"""``pegaflow tier verify``."""

from typing import Any

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.operating import operate, tell
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket
from pegaflow.cli.tier.target import Path, Tier, name_of, target
from pegaflow.tiers import parts_of
from pegaflow.units import format_count, format_size


def verify(
    ctx: typer.Context,
    tier: Tier,
    path: Path = None,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Compare all that a tier has with its checksums.

    What is not what was saved is dropped; exit code 5 when there was any, or a path of several
    could not be read.
    """
    context: AppContext = ctx.obj
    tier, where = target(tier, path)
    client = daemon(context, socket, config, timeout)
    name = name_of(tier, parts_of(client.status(), tier, where))
    fields = {"tier": tier, "path": where}
    verified = operate(context, client, f"verify {name}", "tier-verify", fields)
    result = tell(context, verified, _sentence, json=json)
    if result["corrupt"] or any(path["reason"] for path in result["paths"]):
        raise typer.Exit(ExitCode.PROBLEMS)


def _sentence(verified: dict[str, Any]) -> str:
    unit = "page" if verified["tier"] == "memory" else "block"
    text = (
        f"{format_count(verified['verified'], unit)} ({format_size(verified['bytes'])}) as saved, "
        f"{verified['corrupt']:,} corrupt and dropped"
    )
    if verified["pending"]:
        text += f", {verified['pending']:,} without a checksum yet"
    paths = verified["paths"]
    return "\n".join([text, *map(_path, paths)]) if len(paths) > 1 else text


def _path(path: dict[str, Any]) -> str:
    text = f"{path['path']}: {path['verified']:,} ({format_size(path['bytes'])}) as saved"
    text += f", {path['corrupt']:,} corrupt"
    return text + (f"; not all was compared: {path['reason']}" if path["reason"] else "")
