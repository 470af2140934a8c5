"""The command ``pegaflow top`` and its options."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import ConfigFile, Socket, Timeout, timeout_seconds
from pegaflow.cli.top.sources import demo_sources, local_source, named_urls, remote_sources
from pegaflow.errors import ConfigError
from pegaflow.units import DURATION_FORM, parse_duration

if TYPE_CHECKING:
    from pegaflow.observe.source import Source

_LEAST_INTERVAL_S: Final = 0.1
_LEAST_KEPT_S: Final = 60.0


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
        bool,
        typer.Option(
            "--once",
            help="Read once and end; rates are since the start, and raise no alerts: with -n 2 "
            "the second reading is about the time since the first.",
        ),
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
        str | None,
        typer.Option(
            "--interval",
            "-i",
            metavar="DURATION",
            help="Time between readings.",
            show_default="1s",
        ),
    ] = None,
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
    theme: Annotated[
        str | None,
        typer.Option("--theme", metavar="NAME", help="Colours of the live view; t shows others."),
    ] = None,
    top_config: Annotated[
        str | None,
        typer.Option(
            "--top-config",
            metavar="FILE",
            help="Hosts, thresholds, keys, theme and interval. [default: top.toml beside the "
            "configuration file, where there is one]",
            show_default=False,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="FILE", help="Write every reading to a file.", show_default=False
        ),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Show nothing, only record: with --record.")
    ] = False,
    retention: Annotated[
        str | None,
        typer.Option(
            "--retention",
            metavar="DURATION",
            help="What is older leaves the recording; without it all stays.",
            show_default=False,
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            help="Look at a recording: live, or as lines with --json, --csv, --stat and --once.",
            show_default=False,
        ),
    ] = None,
    allow_actions: Annotated[
        bool,
        typer.Option(
            "--allow-actions",
            help="Let x evict blocks in the live view, once their tier's or namespace's name is "
            "typed; needs --token-file.",
        ),
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="The daemon's http_token_file, for --allow-actions.",
            show_default=False,
        ),
    ] = None,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "2s",
) -> None:
    """Look at daemons; ``HELP`` says more."""
    from pegaflow.cli.top.live import Taste
    from pegaflow.cli.top.look import Look, look, look_back
    from pegaflow.observe.operator import read_token
    from pegaflow.observe.settings import checked_theme, find_settings
    from pegaflow.observe.thresholds import with_changes

    context: AppContext = ctx.obj
    settings = find_settings(top_config, context.environ)
    form = _form(json=json, csv=csv, stat=stat, headless=headless)
    _refuse(**{"--once": once, "--count": count})
    _refuse(**{"--demo": demo, "--url": url})
    _refuse(**{"--demo": demo, "--socket": socket})
    for flag, value in {"--demo": demo, "--url": url, "--record": record}.items():
        _refuse(**{"--replay": replay, flag: value})
    for flag, is_given in {"--headless": headless, "--retention": retention is not None}.items():
        if is_given and record is None:
            raise ConfigError(f"{flag} is about a recording; give --record FILE too")
    if allow_actions != (token_file is not None):
        raise ConfigError("--allow-actions and --token-file FILE go together; give both or none")
    for flag, value in {"--demo": demo, "--replay": replay}.items():
        _refuse(**{"--allow-actions": allow_actions, flag: value})
    if token_file is not None:
        read_token(token_file)
    wanted = Look(
        form=form,
        once=once,
        count=count,
        interval_s=_at_least(
            "--interval", interval or settings.interval or "1s", _LEAST_INTERVAL_S
        ),
        taste=Taste(
            thresholds=with_changes(threshold or (), settings.thresholds),
            ascii_only=ascii_only,
            keys=settings.keys,
            theme=checked_theme(chosen) if (chosen := theme or settings.theme) else None,
        ),
        token_file=token_file,
    )
    if replay is not None:
        look_back(context, replay, wanted)
        return
    timeout_s = timeout_seconds(timeout)
    found: Sequence[Source]
    if demo:
        found = demo_sources()
    elif urls := named_urls(url or (), settings.hosts if socket is None else {}):
        found = remote_sources(urls, timeout_s)
    else:
        found = [local_source(context, socket, config, timeout_s)]
    retention_s = None if retention is None else _at_least("--retention", retention, _LEAST_KEPT_S)
    look(context, found, wanted, record, retention_s)


def _refuse(**given: object) -> None:
    """Two options of which one is enough."""
    if all(given.values()):
        flags = " and ".join(given)
        raise ConfigError(f"{flags} are given; leave one out")


def _form(**given: bool) -> str | None:
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) > 1:
        flags = " and ".join(f"--{name}" for name in chosen)
        raise ConfigError(f"{flags} are given; leave all but one out")
    return chosen[0] if chosen else None


def _at_least(option: str, text: str, least_s: float) -> float:
    """Seconds of an option, ``least_s`` or more."""
    try:
        if (seconds := parse_duration(text)) >= least_s:
            return seconds
    except ValueError:
        pass
    raise ConfigError(
        f"{option} {text!r} cannot be used; allowed: {DURATION_FORM}, {least_s:g}s and more"
    )
