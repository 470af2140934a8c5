"""``pegaflow trace info``, ``convert`` and ``replay``."""

import gzip
import json as json_text
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, size_field
from pegaflow.cli.output import note, table, write_json, write_line, write_tables
from pegaflow.cli.trace_reading import notes, reading_progress
from pegaflow.config import resolve_socket
from pegaflow.errors import ConfigError
from pegaflow.units import format_duration, format_size

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.planning import ReadOptions
    from pegaflow.replay import ReplayReport

app = typer.Typer(
    help="Look at traces of requests, and replay them. `serve --record-dir` records them.",
    rich_markup_mode=None,
)

TraceFile = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="A file of any form that `pegaflow plan` reads, or a folder of recordings.",
    ),
]
BlockTokens = Annotated[
    int | None,
    typer.Option(
        "--block-tokens", min=1, help="Tokens of a block, if not those of the form.",
        show_default=False,
    ),
]  # fmt: skip
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Go on behind lines that cannot be used.")
]
SortTimes = Annotated[
    bool,
    typer.Option("--sort-times", help="Sort the requests by time; needs memory for them all."),
]
Partial = Annotated[
    bool, typer.Option("--count-partial", help="Count the partial block at each prompt's end too.")
]


def _options(
    block_tokens: int | None, count_partial: bool, skip_bad: bool, sort_times: bool
) -> "ReadOptions":
    from pegaflow.planning import ReadOptions

    return ReadOptions(block_tokens, count_partial, 0, skip_bad, sort_times)


@app.command("info")
def info(
    ctx: typer.Context,
    trace: TraceFile,
    block_tokens: BlockTokens = None,
    count_partial: Partial = False,
    skip_bad: SkipBad = False,
    sort_times: SortTimes = False,
    json: Json = False,
) -> None:
    """Say what is in a trace."""
    from pegaflow.planning import read_trace

    context: AppContext = ctx.obj
    options = _options(block_tokens, count_partial, skip_bad, sort_times)
    read = read_trace(trace, options, reading_progress(context))
    notes(context, read)
    document = {
        "format": read.form,
        "requests": read.requests,
        "duration_s": read.duration_s,
        "prompt_tokens": read.prompt_tokens,
        "block_tokens": read.block_tokens,
        "block_bytes": read.block_bytes,
        "blocks": read.blocks,
        "distinct_blocks": read.distinct_blocks,
        "ceiling_percent": read.ceiling_percent(),
        "reuse_model": read.reuse_model,
        "skipped_lines": read.skipped_lines,
    }
    if json:
        write_json(context, "trace-info", document)
        return
    rows = table()
    rows.add_row("form", read.form)
    rows.add_row("requests", f"{read.requests:,} in {format_duration(read.duration_s)}")
    rows.add_row("tokens", f"{read.prompt_tokens:,} of prompts, {read.block_tokens} a block")
    rows.add_row("blocks", f"{read.blocks:,}, of which {read.distinct_blocks:,} differ")
    rows.add_row("ceiling", f"{document['ceiling_percent']:g}% were asked for before")
    rows.add_row("reuse", read.reuse_model)
    write_tables(context, [rows])


@app.command("convert")
def convert(
    ctx: typer.Context,
    trace: TraceFile,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The file to write; one named .gz is compressed."),
    ],
    block_tokens: BlockTokens = None,
    skip_bad: SkipBad = False,
    sort_times: SortTimes = False,
) -> None:
    """Write a trace in Mooncake's form, which other tools read too.

    Times are since the first request. Blocks keep their size: where that is not 512 tokens, readers
    have to be told.
    """
    from pegaflow.planning import open_trace

    context: AppContext = ctx.obj
    options = _options(block_tokens, True, skip_bad, sort_times)
    with open_trace(trace, options, reading_progress(context)) as (read, requests):
        try:
            count = 0
            with _written(out) as file:
                for request in requests:
                    count += 1
                    line = {
                        "timestamp": round(request.time_s * 1e3),
                        "input_length": request.tokens,
                        "output_length": 0,
                        "hash_ids": request.names,
                    }
                    file.write(json_text.dumps(line, separators=(",", ":")) + "\n")
        except FileExistsError as error:
            raise ConfigError(f"{out} is there already: give another name") from error
        except PermissionError as error:
            raise ConfigError(f"{out} cannot be written: {error.strerror}") from error
    notes(context, read)
    write_line(context, f"wrote {count:,} requests with blocks of {read.block_tokens} tokens")


def _written(out: Path) -> IO[str]:
    if out.suffix == ".gz":
        return gzip.open(out, "xt", encoding="utf-8")
    return out.open("x", encoding="utf-8")


@app.command("replay")
def replay(
    ctx: typer.Context,
    trace: TraceFile,
    engines: Annotated[
        int, typer.Option("--engines", min=1, max=64, help="Simulated engines side by side.")
    ] = 4,
    speed: Annotated[
        float,
        typer.Option("--speed", min=0, help="Times the trace's own; 0: without waiting."),
    ] = 1.0,
    block_bytes: Annotated[
        str,
        typer.Option("--block-bytes", metavar="SIZE", help="Bytes that each block has."),
    ] = "64KiB",
    engine_blocks: Annotated[
        int,
        typer.Option(
            "--engine-blocks", min=1, max=16384, help="Blocks of a request; longer ones are cut."
        ),
    ] = 1024,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="Only so many requests.", show_default=False),
    ] = None,
    block_tokens: BlockTokens = None,
    skip_bad: SkipBad = False,
    sort_times: SortTimes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Replay a trace against the running daemon, and compare every byte that comes back.

    Each engine looks up the blocks of its requests, loads what is cached, and saves the rest, with
    bytes of this run alone. They stay in the daemon's cache afterwards, in a namespace of the run.
    """
    from itertools import islice

    from pegaflow.planning import open_trace
    from pegaflow.replay import ReplayPlan
    from pegaflow.replay import replay as replay_trace

    context: AppContext = ctx.obj
    size = size_field("--block-bytes", block_bytes)
    if size < 8 or size % 8:
        raise ConfigError(f"--block-bytes {block_bytes!r} cannot be used; allowed: multiples of 8")
    daemon(context, socket, config, timeout).status()
    address = resolve_socket(socket, config=config, environ=context.environ)
    plan = ReplayPlan(engines, speed, size, engine_blocks)
    options = _options(block_tokens, False, skip_bad, sort_times)
    with open_trace(trace, options, reading_progress(context)) as (read, requests):
        report = replay_trace(
            address, plan, islice(requests, limit), lambda text: note(context, text)
        )
    notes(context, read)
    for failure in report.tally.failures[:5]:
        note(context, f"a request failed: {failure}")
    if json:
        write_json(context, "trace-replay", report.document())
    else:
        write_tables(context, [_report(report)])
    if not report.is_right:
        note(context, f"{report.tally.wrong_blocks} blocks came back with other bytes than saved")
        raise typer.Exit(ExitCode.PROBLEMS)


def _report(report: "ReplayReport") -> "Table":
    tally, document = report.tally, report.document()
    rows = table()
    rows.add_row(
        "requests",
        f"{tally.requests:,} in {format_duration(report.seconds)} by {report.engines} engines, "
        f"{len(tally.failures)} failed, {tally.cut_requests} cut",
    )
    tiers = {"memory": tally.memory, "ssd": tally.ssd, "remote": tally.remote}
    parts = ", ".join(f"{report.percent(blocks):g}% {tier}" for tier, blocks in tiers.items())
    rows.add_row("hits", f"{document['hit_percent']:g}% of {tally.requested:,} blocks: {parts}")
    for what, gb_s in (("loaded", "load_gb_s"), ("saved", "save_gb_s")):
        moved = format_size(document[f"{what}_bytes"])
        rows.add_row(what, f"{moved}, {document[gb_s]:g} GB/s")
    rows.add_row("verified", f"{tally.loaded_blocks:,} blocks compared, {tally.wrong_blocks} wrong")
    for what in ("lookup", "load", "save", "late"):
        times = document[f"{what}_ms"]
        rows.add_row(
            what,
            f"p50 {times['p50']:g} ms, p95 {times['p95']:g} ms, p99 {times['p99']:g} ms "
            f"of {times['count']:,}",
        )
    return rows
