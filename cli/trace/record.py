"""``pegaflow trace record``."""

from typing import Annotated, Any

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.operating import operate, tell
from pegaflow.cli.options import ConfigFile, Json, Silence, Socket, path_field, size_field
from pegaflow.cli.output import note
from pegaflow.errors import ConfigError
from pegaflow.units import SIZE_FORM, format_count, format_size


def record(
    ctx: typer.Context,
    directory: Annotated[
        str | None,
        typer.Argument(
            metavar="DIR", help="The daemon's directory for them, from / on.", show_default=False
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            help=f"What all recordings there may take; the oldest go. {SIZE_FORM}. "
            "[default: the daemon's record_size]",
            show_default=False,
        ),
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="End the recording.")] = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Silence = "5s",
    json: Json = False,
) -> None:
    """Record what engines look up, until --stop or the daemon's end.

    It writes times and hashed ids of blocks, no content, with 1 % of a processor at most.
    `pegaflow status` says how far it is; `serve --record-dir` records from the start on. Ids are
    the same in all that is recorded into one directory, and differ from those of any other one.
    """
    context: AppContext = ctx.obj
    if (directory is None) != stop:
        raise ConfigError("give one of DIR, to begin a recording, and --stop, to end it")
    if stop and size is not None:
        raise ConfigError("--size is of a recording that begins; leave it or --stop out")
    fields: dict[str, Any] = {}
    if directory is not None:
        fields["directory"] = path_field("DIR", directory)
        if size is not None:
            fields["size_bytes"] = size_field("--size", size)
    client = daemon(context, socket, config, timeout)
    name, sentence = ("trace-stop", _ended) if stop else ("trace-record", _begun)
    result = tell(context, operate(context, client, name, name, fields), sentence, json=json)
    if not stop and result["shortage"] is not None:
        note(context, result["shortage"])


def _begun(recording: dict[str, Any]) -> str:
    most, there = format_size(recording["size_bytes"]), format_size(recording["bytes"])
    return (
        f"lookups are recorded into {recording['directory']}, which has {there} of at most {most}"
    )


def _ended(recording: dict[str, Any]) -> str:
    lookups = recording["lookups"]
    were = "was" if lookups == 1 else "were"
    text = f"{format_count(lookups, 'lookup')} {were} recorded into {recording['directory']}"
    if recording["left_out"]:
        text += f", {recording['left_out']:,} left out"
    if recording["error"]:
        text += f", the last because they could not be written: {recording['error']}"
    return f"{text}; it has {format_size(recording['bytes'])}"
