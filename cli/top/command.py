"""The command ``pegaflow top`` and its options."""

from typing import Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import ConfigFile, Socket, Timeout, timeout_seconds
from pegaflow.cli.top.sources import demo_sources, sources
from pegaflow.errors import ConfigError
from pegaflow.units import DURATION_FORM, parse_duration

_LEAST_INTERVAL_S = 0.1


def top(
    ctx: typer.Context,
    url: Annotated[
        list[str] | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="A daemon's HTTP address, such as http://gpu-7:9091; can be given several times. "
            "Without one it is the daemon at --socket.",
            show_default=False,
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Read once and end; rates are since the start.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Write a line of JSON for each reading.")
    ] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Write a line of CSV for each daemon.")
    ] = False,
    stat: Annotated[
        bool,
        typer.Option(
            "--stat",
            help="Write a line of text for each daemon, which is what is done without a terminal.",
        ),
    ] = False,
    interval: Annotated[
        str, typer.Option("--interval", "-i", metavar="DURATION", help="Time between readings.")
    ] = "1s",
    count: Annotated[
        int | None,
        typer.Option("--count", "-n", min=1, help="Readings until it ends.", show_default="no end"),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="NAME=WARNING,CRITICAL",
            help="From which values on something is worth a look; NAME=off: never.",
            show_default=False,
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Look at daemons that are made up, without any.")
    ] = False,
    ascii_only: Annotated[
        bool, typer.Option("--ascii", help="Draw the live view with ASCII alone.")
    ] = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "2s",
) -> None:
    """Look at daemons; ``HELP`` says more."""
    from pegaflow.cli.top.live import can_be_live, show
    from pegaflow.cli.top.readings import readings
    from pegaflow.cli.top.writers import check, write
    from pegaflow.observe.thresholds import with_changes

    context: AppContext = ctx.obj
    form = _form(json=json, csv=csv, stat=stat)
    if once and count is not None:
        raise ConfigError("--once and --count are given; leave one out")
    if demo and (url or socket):
        raise ConfigError("--demo looks at no daemon; leave --url and --socket out")
    limits = with_changes(threshold or ())
    found = (
        demo_sources()
        if demo
        else sources(context, url or (), socket, config, timeout_seconds(timeout))
    )
    interval_s = _interval_s(interval)
    try:
        if form is None and not once and count is None and can_be_live(context):
            show(context, found, limits, interval_s, ascii_only=ascii_only)
            return
        for number, reading in enumerate(readings(found, limits, interval_s, 1 if once else count)):
            write(context, form or "stat", reading, first=number == 0)
            if once:
                check(reading)
    finally:
        for source in found:
            source.close()


def _form(**given: bool) -> str | None:
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) > 1:
        flags = " and ".join(f"--{name}" for name in chosen)
        raise ConfigError(f"{flags} are given; leave all but one out")
    return chosen[0] if chosen else None


def _interval_s(text: str) -> float:
    try:
        if (seconds := parse_duration(text)) >= _LEAST_INTERVAL_S:
            return seconds
    except ValueError:
        pass
    raise ConfigError(
        f"--interval {text!r} cannot be used; allowed: {DURATION_FORM}, "
        f"{_LEAST_INTERVAL_S:g}s and more"
    )
