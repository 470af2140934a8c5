"""``pegaflow bench restart``."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.options import Json
from pegaflow.cli.output import note, table, write_json, write_tables

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.bench.restart import RestartReport


def restart(
    ctx: typer.Context,
    python: Python = sys.executable,
    model: Model = None,
    tokens: Tokens = None,
    arguments: EngineArguments = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Measure what a restart costs, with and without the cache.

    Kills an engine and starts it again, without a connector and with ours, then kills the daemon
    and starts it again: how long until it serves, and the first request after it, of a prompt
    that was computed before. Exit code 5 when its greedy tokens differ.
    """
    from pegaflow.bench.restart import measure
    from pegaflow.bench.ttft import Choice

    context: AppContext = ctx.obj
    length = tokens or (256 if quick else None)
    choice = Choice(python, model, tokens=length, engine_arguments=engine_arguments(arguments))
    report = measure(choice, lambda text: note(context, text))
    if json:
        write_json(context, "bench-restart", report.document())
    else:
        write_tables(context, _tables(report))
    if not report.all_same:
        note(context, "the first request after a restart gave other greedy tokens than before")
        raise typer.Exit(ExitCode.PROBLEMS)


def _tables(report: "RestartReport") -> "Iterator[Table]":
    overview = table()
    where = "GPU" if report.on_gpu else "processor"
    overview.add_row("vLLM", f"{report.vllm} on the {where}")
    overview.add_row("prompt", f"{report.tokens:,} tokens")
    yield overview
    rows = table("killed", "cache", "serves again s", "first TTFT ms", "cached tokens", "same")
    for restart in report.restarts:
        rows.add_row(
            restart.what,
            "pegaflow" if restart.with_cache else "none",
            f"{restart.start_s:.1f}",
            f"{restart.first_ttft_ms:.1f}",
            f"{restart.cached_tokens:,}",
            "yes" if restart.same_tokens else "no",
        )
    yield rows
