"""``pegaflow bench sharing``."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pegaflow.cli.bench.options import (
    EngineArguments,
    Model,
    Python,
    Quick,
    Tokens,
    engine_arguments,
)
from pegaflow.cli.context import AppContext
from pegaflow.cli.options import Json
from pegaflow.cli.output import note, table, write_json, write_tables
from pegaflow.units import format_size

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.bench.sharing import SharingReport


def sharing(
    ctx: typer.Context,
    engines: Annotated[
        int, typer.Option("--engines", min=2, help="How many engines share a machine.")
    ] = 2,
    python: Python = sys.executable,
    model: Model = None,
    tokens: Tokens = None,
    arguments: EngineArguments = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Measure what one pool for several engines brings.

    Requests that share prefixes, against one pool and against a pool of an equal part for each
    engine; each time handed out in turn, and each prefix always to the same engine.
    """
    from pegaflow.bench.sharing import measure
    from pegaflow.bench.ttft import Choice

    context: AppContext = ctx.obj
    choice = Choice(python, model, tokens=tokens, engine_arguments=engine_arguments(arguments))
    report = measure(choice, engines, lambda text: note(context, text), is_quick=quick)
    if json:
        write_json(context, "bench-sharing", report.document())
    else:
        write_tables(context, _tables(report))


def _tables(report: "SharingReport") -> "Iterator[Table]":
    overview = table()
    where = "GPU" if report.on_gpu else "processor"
    overview.add_row("vLLM", f"{report.vllm} on the {where}, {report.engines} engines")
    requests = f"{report.requests} of {report.tokens:,} tokens, {report.prefixes} prefixes"
    overview.add_row("requests", requests)
    overview.add_row("pool", f"{format_size(report.pool_bytes)} in all")
    yield overview
    rows = table("pools", "routing", "tokens/s", "hits")
    for cell in report.cells:
        pools = "one for all" if cell.pools == 1 else f"{cell.pools}, one each"
        rows.add_row(pools, cell.routing, f"{cell.tokens_s:,.0f}", f"{cell.hit_rate:.1%}")
    yield rows
