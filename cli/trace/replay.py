"""``pegaflow trace replay``."""

import os
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.options import (
    ConfigFile,
    Json,
    Socket,
    Timeout,
    duration_field,
    size_field,
)
from pegaflow.cli.output import note, table, write_json, write_tables
from pegaflow.cli.trace.options import BlockTokens, SkipBad, SortTimes, TraceFile, read_options
from pegaflow.cli.trace_reading import notes, reading_progress
from pegaflow.config import resolve_socket
from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.units import format_count, format_duration, format_size

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.replay import ReplayReport

_SLOWEST: Final = 0.001
_FASTEST: Final = 1_000_000


def replay(
    ctx: typer.Context,
    trace: TraceFile,
    engines: Annotated[
        int, typer.Option("--engines", min=1, max=64, help="Simulated engines side by side.")
    ] = 4,
    speed: Annotated[
        float,
        typer.Option(
            "--speed",
            min=0,
            max=_FASTEST,
            help="Times the trace's own; 0: without waiting. The ages of blocks, from which some "
            "policies learn, hardly differ then: density hits less than in real time.",
        ),
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
        typer.Option(
            "--limit", min=1, max=10**12, help="Only so many requests.", show_default=False
        ),
    ] = None,
    patience: Annotated[
        str,
        typer.Option(
            "--patience",
            metavar="DURATION",
            help="How long requests wait for a daemon that does not answer, before all ends.",
        ),
    ] = "60s",
    block_tokens: BlockTokens = None,
    skip_bad: SkipBad = False,
    sort_times: SortTimes = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Replay a trace against the daemon, and compare every byte.

    Each engine looks up the blocks of its requests, loads what is cached, and saves the rest, with
    bytes of this run alone. They stay in the daemon's cache afterwards, in a namespace of the run.
    What was measured is told also where it ends early: at Ctrl-C, a line that cannot be used, or
    without a daemon.

    A daemon that ends leaves the requests under way without an answer: they are counted apart, and
    the engines go on with the next daemon. The bytes that it has kept are compared like all others.

    Exit code 0: all is as it should be; 1: requests failed; 5: bytes were wrong.
    """
    from itertools import islice

    from pegaflow.planning import open_trace
    from pegaflow.replay import ReplayPlan
    from pegaflow.replay import replay as replay_trace

    context: AppContext = ctx.obj
    size = size_field("--block-bytes", block_bytes)
    if size < 8 or size % 8:
        raise ConfigError(f"--block-bytes {block_bytes!r} cannot be used; allowed: multiples of 8")
    patience_s = duration_field("--patience", patience)
    if 0 < speed < _SLOWEST:
        raise ConfigError(
            f"--speed {speed:g} cannot be used; allowed: 0, or {_SLOWEST:g} to {_FASTEST:,}"
        )
    _check_memory(block_bytes, size, engines, engine_blocks)
    daemon(context, socket, config, timeout).status()
    address = resolve_socket(socket, config=config, environ=context.environ)
    plan = ReplayPlan(engines, speed, size, engine_blocks, patience_s)
    options = read_options(block_tokens, False, skip_bad, sort_times)
    with open_trace(trace, options, reading_progress(context)) as (read, requests):
        report = replay_trace(
            address, plan, islice(requests, limit), lambda text: note(context, text)
        )
    notes(context, read)
    if report.tally.unanswered:
        unanswered = format_count(report.tally.unanswered, "request")
        note(context, f"{unanswered} got no answer: the daemon ended or cut their engines off")
    for failure in report.tally.failures[:5]:
        note(context, f"a request failed: {failure}")
    if json:
        write_json(context, "trace-replay", report.document())
    else:
        write_tables(context, [_report(report)])
    _end(context, report)


def _check_memory(given: str, size: int, engines: int, engine_blocks: int) -> None:
    needed = size * engine_blocks * engines
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        raise ConfigError(
            f"--block-bytes {given!r} cannot be used: {format_count(engines, 'engine')} with "
            f"{format_count(engine_blocks, 'block')} each can need {format_size(needed)}, this "
            f"machine has {format_size(memory)}; give less of it, --engine-blocks or --engines"
        )


def _end(context: AppContext, report: "ReplayReport") -> None:
    """Ends the command with what is worst of what was found."""
    tally = report.tally
    if not report.is_right:
        blocks = f"{tally.wrong_blocks:,} of {format_count(tally.loaded_blocks, 'loaded block')}"
        note(context, f"{blocks} came back with other bytes than saved")
        if report.ended_early is not None:
            note(context, report.ended_early)
        raise typer.Exit(ExitCode.PROBLEMS)
    if report.ended is not None:
        raise report.ended
    if tally.failures:
        requests = format_count(tally.requests, "request")
        raise PegaflowError(f"{len(tally.failures):,} of {requests} failed")


def _report(report: "ReplayReport") -> "Table":
    tally, document = report.tally, report.document()
    rows = table()
    rows.add_row(
        "requests",
        f"{tally.requests:,} in {format_duration(report.seconds)} "
        f"({document['requests_per_s']:g}/s) by {format_count(report.engines, 'engine')}, "
        f"{len(tally.failures)} failed, {tally.unanswered} unanswered, {tally.cut_requests} cut",
    )
    tiers = {"memory": tally.memory, "ssd": tally.ssd, "remote": tally.remote}
    parts = ", ".join(f"{report.percent(blocks):g}% {tier}" for tier, blocks in tiers.items())
    requested = format_count(tally.requested, "block")
    rows.add_row("hits", f"{document['hit_percent']:g}% of {requested}: {parts}")
    for what, gb_s in (("loaded", "load_gb_s"), ("saved", "save_gb_s")):
        moved = format_size(document[f"{what}_bytes"])
        rows.add_row(what, f"{moved}, {document[gb_s]:g} GB/s")
    compared = format_count(tally.loaded_blocks, "block")
    rows.add_row("verified", f"{compared} compared, {tally.wrong_blocks} wrong")
    for what in ("lookup", "load", "save", "late"):
        times = document[f"{what}_ms"]
        rows.add_row(
            what,
            f"p50 {times['p50']:g} ms, p95 {times['p95']:g} ms, p99 {times['p99']:g} ms "
            f"of {times['count']:,}",
        )
    return rows
