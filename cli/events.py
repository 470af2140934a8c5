"""``pegaflow events``."""

import dataclasses
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.options import (
    ConfigFile,
    Json,
    Socket,
    Timeout,
    duration_field,
    one_of,
)
from pegaflow.cli.output import note, write_json, write_line
from pegaflow.errors import CallTimeout, Unreachable

if TYPE_CHECKING:
    from pegaflow.event_models import LoggedEvent
    from pegaflow.observe.event_reader import EventReader

HELP: Final = """Tell what happened in the daemon; --follow: as it happens.

The daemon keeps its last 4,096 events. Each has a number, one more than the last, so that what is
missing is told too.

\b
All that is kept:
  pegaflow events
What goes wrong, as it happens:
  pegaflow events --follow --since 1m --level warning
Which engines came and went within a day, for scripts:
  pegaflow events --since 24h --kind engine --json | jq -r .text
"""

KINDS: Final = (
    "daemon",
    "self-test",
    "engine",
    "lease",
    "path",
    "eviction",
    "integrity",
    "recording",
    "operation",
    "configuration",
)
"""Kinds that daemons tell; what the reader says of itself is always told."""

LEVELS: Final = ("ok", "warning", "critical")

_WAIT_S: Final = 10.0
_PAUSE_S: Final = 1.0


def events(
    ctx: typer.Context,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens, until Ctrl-C.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DURATION",
            help="Only what happened within so long; all unless given.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help=f"Only events about this: {', '.join(KINDS)}; may be given several times.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option(
            "--level", metavar="LEVEL", help="The least that matters: ok, warning or critical."
        ),
    ] = "ok",
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Tell what happened; ``HELP`` says more."""
    from pegaflow.observe.event_reader import EventReader

    context: AppContext = ctx.obj
    kinds = [one_of("--kind", one, KINDS) for one in kind or KINDS]
    least = LEVELS.index(one_of("--level", level, LEVELS))
    begin = 0.0 if since is None else time.time() - duration_field("--since", since)

    def get(after: int, wait_s: float) -> str:
        # The next daemon may have another HTTP address.
        return daemon(context, socket, config, timeout).events_json(after, wait_s)

    reader = EventReader(get)
    found = _followed(context, reader) if follow else _kept(reader)
    for event in found:
        if event.sequence is not None and (
            event.at < begin or event.kind not in kinds or LEVELS.index(event.level) < least
        ):
            continue
        if json:
            document = {"boot_id": reader.boot_id, **dataclasses.asdict(event)}
            write_json(context, "event", document)
        else:
            write_line(context, _line(event))


def _kept(reader: "EventReader") -> "Iterator[LoggedEvent]":
    while found := reader.read():
        yield from found


def _followed(context: AppContext, reader: "EventReader") -> "Iterator[LoggedEvent]":
    """What is kept, then what happens; a daemon that goes is waited for."""
    wait_s, is_there = 0.0, True
    while True:
        try:
            found = reader.read(wait_s)
        except (Unreachable, CallTimeout) as error:
            if reader.boot_id is None:
                raise
            if is_there:
                note(context, f"{error}; waiting for a daemon")
            # The next daemon's numbers begin again: no wait for one that it does not have.
            wait_s, is_there = 0.0, False
            time.sleep(_PAUSE_S)
        else:
            wait_s, is_there = _WAIT_S, True
            yield from found


def _line(event: "LoggedEvent") -> str:
    from pegaflow.observe.rows import iso_time

    return f"{iso_time(event.at)}  {event.level:8}  {event.kind:13}  {event.text}"
