"""``pegaflow bench ttft``."""

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
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.options import Json
from pegaflow.cli.output import note, table, write_json, write_tables

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.bench.ttft import Engine, TtftReport


def ttft(
    ctx: typer.Context,
    python: Python = sys.executable,
    model: Model = None,
    prompts: Annotated[int, typer.Option("--prompts", min=1, help="How many prompts.")] = 8,
    tokens: Tokens = None,
    arguments: EngineArguments = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Measure the time to the first token, with and without caches.

    The same prompts, one at a time: computed, hit in vLLM's own cache, loaded by PegaFlow, and
    loaded by vLLM's own offload, where that vLLM has one. Exit code 5 when greedy tokens differ.
    """
    from pegaflow.bench.ttft import Choice, measure

    context: AppContext = ctx.obj
    choice = Choice(python, model, 2 if quick else prompts, tokens, engine_arguments(arguments))
    report = measure(choice, lambda text: note(context, text))
    if json:
        write_json(context, "bench-ttft", report.document())
    else:
        write_tables(context, _tables(report))
    if not report.all_same:
        note(context, "a pass gave other greedy tokens than the cold one")
        raise typer.Exit(ExitCode.PROBLEMS)


def _tables(report: "TtftReport") -> "Iterator[Table]":
    overview = table()
    where = "GPU" if report.on_gpu else "processor"
    overview.add_row("vLLM", f"{report.vllm} on the {where}")
    overview.add_row("prompts", f"{report.prompts} of {report.tokens:,} tokens, one at a time")
    yield overview
    passes = table("engine", "prompts are", "TTFT median ms", "least", "most", "cached", "same")
    for engine in report.engines:
        for one in engine.passes:
            passes.add_row(
                one.engine,
                one.what,
                f"{one.median_ms:.1f}",
                f"{min(one.ttft_ms):.1f}",
                f"{max(one.ttft_ms):.1f}",
                f"{one.cached_tokens / one.prompt_tokens:.0%}",
                f"{one.same_tokens} of {report.prompts}",
            )
    yield passes
    starts = table("engine", "start")
    for engine in report.engines:
        starts.add_row(engine.name, _start(engine))
    yield starts


def _start(engine: "Engine") -> str:
    start = f"{engine.start_s:.1f} s" if engine.start_s is not None else "did not start"
    return f"{start}: {engine.failure}" if engine.failure else start
