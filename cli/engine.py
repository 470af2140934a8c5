"""``pegaflow engine list`` and ``evict``."""

from typing import Any, Final

import typer

from pegaflow.cli.confirmation import Yes, confirm
from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket, Timeout
from pegaflow.cli.output import table, write_json, write_tables
from pegaflow.errors import PegaflowError
from pegaflow.models import Engine, Status
from pegaflow.units import format_count, format_duration

app = typer.Typer(
    help="See the engines that are attached, and end their sessions.", rich_markup_mode=None
)

_SHOWN_DIGITS: Final = 12
_MOST_TYPED: Final = 24
"""Of a longer name the first digits are enough."""

LIST_HELP: Final = """List the engines that are attached.

\b
  pegaflow engine list
  pegaflow engine list --json | jq -r '.engines[].engine_id'
"""

EVICT_HELP: Final = """End an engine's sessions, after a confirmation.

Its grants are revoked, its leases end, and its blocks stay. An engine that lives goes on without
cache, and attaches again within seconds: evict one that hangs, or whose process nobody can reach.

\b
  pegaflow engine list
  pegaflow engine evict 3f2a
  pegaflow engine evict 3f2a --yes --json
"""


@app.command("list", help=LIST_HELP)
def list_(
    ctx: typer.Context,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """List the engines."""
    context: AppContext = ctx.obj
    found = daemon(context, socket, config, timeout).status().engines
    if json:
        write_json(context, "engines", {"engines": [_document(engine) for engine in found]})
        return
    listed = table("engine", "model", "state", "scheduler", "workers", "attached", "namespace")
    for engine in found:
        listed.add_row(
            engine.engine_id,
            engine.model,
            "complete" if engine.complete else "incomplete",
            str(engine.scheduler_pid or ""),
            f"{len(engine.worker_pids)} of {engine.workers}",
            format_duration(engine.attached_s),
            engine.namespace[:_SHOWN_DIGITS],
        )
    write_tables(context, [listed])


@app.command(help=EVICT_HELP)
def evict(
    ctx: typer.Context,
    engine: str = typer.Argument(
        metavar="ENGINE", help="Its name, or enough of the first letters of it."
    ),
    yes: Yes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """End an engine's sessions."""
    context: AppContext = ctx.obj
    client = daemon(context, socket, config, timeout)
    status = client.status()
    one = _named(status, engine)
    name = one.engine_id if len(one.engine_id) <= _MOST_TYPED else one.engine_id[:_SHOWN_DIGITS]
    # Several may have one id.
    ending = [other for other in status.engines if other.engine_id == one.engine_id]
    count = sum(len(other.worker_pids) + (other.scheduler_pid is not None) for other in ending)
    loss = f"engine {name} ({one.model}) loses {format_count(count, 'session')}"
    confirm(context, loss, name, yes=yes)
    fields = {"engine": one.engine_id}
    tell(
        context,
        operate(context, client, f"evict {name}", "engine-evict", fields),
        _evicted,
        json=json,
    )


def _named(status: Status, name: str) -> Engine:
    """The one engine whose name is, or begins with, ``name``."""
    names = {engine.engine_id: engine for engine in status.engines}
    if name in names:
        return names[name]
    found = [engine_id for engine_id in names if engine_id.startswith(name)]
    if len(found) == 1:
        return names[found[0]]
    if found:
        raise PegaflowError(f"engine {name} is one of {', '.join(found)}: give more of its name")
    there = ", ".join(names) or "none"
    raise PegaflowError(f"no engine {name} is attached; attached: {there}")


def _document(engine: Engine) -> dict[str, Any]:
    return {
        "engine_id": engine.engine_id,
        "model": engine.model,
        "namespace": engine.namespace,
        "complete": engine.complete,
        "scheduler_pid": engine.scheduler_pid,
        "worker_pids": list(engine.worker_pids),
        "workers": engine.workers,
        "attached_s": engine.attached_s,
    }


def _evicted(evicted: dict[str, Any]) -> str:
    return (
        f"{format_count(evicted['sessions'], 'session')} of engine {evicted['engine']} ended, "
        f"with {format_count(evicted['leases'], 'lease')}; its blocks stay"
    )
