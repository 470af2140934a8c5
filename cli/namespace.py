"""``pegaflow namespace list``, ``evict``, ``pin``, ``unpin`` and ``quota``."""

from typing import Annotated, Any

import typer

from pegaflow.cli.confirmation import Yes, confirm
from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import Operated, operate, tell
from pegaflow.cli.options import (
    ConfigFile,
    Json,
    Silence,
    Socket,
    Timeout,
    amount_field,
)
from pegaflow.cli.output import table, write_json, write_tables
from pegaflow.namespaces import named, namespaces, parse_prefix
from pegaflow.units import AMOUNT_FORM, format_count, format_size

app = typer.Typer(help="See and change what is kept for whom.", rich_markup_mode=None)

Prefix = Annotated[
    str,
    typer.Argument(metavar="NAMESPACE", help="Its 64 digits, or enough of the first of them."),
]

_SHOWN_DIGITS = 12


@app.command("list")
def list_(
    ctx: typer.Context,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """List the namespaces and what each has.

    In memory and on ssd, with its hits, pin and quota.
    """
    context: AppContext = ctx.obj
    found = namespaces(daemon(context, socket, config, timeout).status())
    if json:
        write_json(context, "namespaces", {"namespaces": [one.document() for one in found]})
        return
    listed = table("namespace", "model", "memory", "ssd", "hits", "evicted", "pinned", "quota")
    for one in found:
        listed.add_row(
            one.namespace[:_SHOWN_DIGITS],
            one.model or "",
            format_size(one.bytes),
            format_size(one.ssd_bytes),
            f"{one.hit_rate:.1%}" if one.hit_rate is not None else "",
            f"{one.evictions:,}",
            "yes" if one.pinned else "",
            format_size(one.quota_bytes) if one.quota_bytes is not None else "",
        )
    write_tables(context, [listed])


@app.command()
def evict(
    ctx: typer.Context,
    namespace: Prefix,
    yes: Yes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Evict a namespace from all tiers.

    After a confirmation; blocks in use stay.
    """
    context: AppContext = ctx.obj
    client = daemon(context, socket, config, timeout)
    one = named(client.status(), namespace)
    size = f"{format_size(one.bytes)} in memory and {format_size(one.ssd_bytes)} on ssd"
    name = one.namespace[:_SHOWN_DIGITS]
    confirm(context, f"{size} of namespace {name} go", name, yes=yes)
    fields = {"namespace": one.namespace}
    evicted = operate(context, client, f"evict {name}", "namespace-evict", fields)
    tell(context, evicted, _evicted, json=json)


@app.command()
def pin(
    ctx: typer.Context,
    namespace: Prefix,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Keep a namespace's blocks in memory when others need room.

    One that is not there yet can be pinned by its 64 digits.
    """
    operated = _operate(ctx, "namespace-pin", socket, config, timeout, namespace)
    tell(ctx.obj, operated, lambda result: f"{result['namespace']} is pinned", json=json)


@app.command()
def unpin(
    ctx: typer.Context,
    namespace: Prefix,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Take a pin back."""
    operated = _operate(ctx, "namespace-unpin", socket, config, timeout, namespace)
    tell(ctx.obj, operated, lambda result: f"{result['namespace']} is not pinned", json=json)


@app.command()
def quota(
    ctx: typer.Context,
    namespace: Prefix,
    amount: Annotated[
        str,
        typer.Argument(metavar="AMOUNT", help=f"Of the pool: {AMOUNT_FORM}; none: no limit."),
    ],
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Limit the memory that a namespace takes.

    What it has beyond goes at once, unless it is in use.
    """
    limit = None if amount.strip().lower() == "none" else amount_field("AMOUNT", amount)
    operated = _operate(ctx, "namespace-quota", socket, config, timeout, namespace, quota=limit)
    tell(ctx.obj, operated, _limited, json=json)


def _operate(
    ctx: typer.Context,
    name: str,
    socket: str | None,
    config: str | None,
    timeout: str,
    namespace: str,
    **others: Any,
) -> Operated:
    context: AppContext = ctx.obj
    fields = {"namespace": parse_prefix(namespace), **others}
    client = daemon(context, socket, config, timeout)
    return operate(context, client, name, name, fields)


def _evicted(evicted: dict[str, Any]) -> str:
    text = (
        f"{format_count(evicted['blocks'], 'block')} ({format_size(evicted['bytes'])}) evicted "
        "from memory, "
        f"{evicted['ssd_blocks']:,} ({format_size(evicted['ssd_bytes'])}) from ssd"
    )
    if evicted["kept_blocks"]:
        kept = format_size(evicted["kept_bytes"])
        text += f"; {format_count(evicted['kept_blocks'], 'block')} ({kept}) kept: in use"
    return text


def _limited(limited: dict[str, Any]) -> str:
    if limited["quota_bytes"] is None:
        return f"{limited['namespace']} has no limit"
    return f"{limited['namespace']} takes {format_size(limited['quota_bytes'])} at most"
