"""``pegaflow trace info``."""

from typing import Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import Json
from pegaflow.cli.output import table, write_json, write_tables
from pegaflow.cli.trace.options import BlockTokens, SkipBad, SortTimes, TraceFile, read_options
from pegaflow.cli.trace_reading import notes, reading_progress
from pegaflow.units import format_duration

Partial = Annotated[
    bool, typer.Option("--count-partial", help="Count the partial block at each prompt's end too.")
]


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
    options = read_options(block_tokens, count_partial, skip_bad, sort_times)
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
