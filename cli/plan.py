"""``pegaflow plan``."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import Json
from pegaflow.cli.output import note, table, write_json, write_line, write_tables
from pegaflow.errors import ConfigError
from pegaflow.units import format_duration, format_size, parse_size

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.planning import BytesPerToken, Plan, Trace

_PROGRESS_BYTES = 256 << 20


def plan(
    ctx: typer.Context,
    trace: Annotated[
        Path,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="A trace: Mooncake or Qwen-Bailian JSONL, Azure or BurstGPT CSV.",
            show_default=False,
        ),
    ],
    capacity_blocks: Annotated[
        list[int] | None,
        typer.Option(
            "--capacity-blocks",
            min=1,
            help="A size in blocks; can be given several times. [default: 20 sizes]",
            show_default=False,
        ),
    ] = None,
    capacity: Annotated[
        list[str] | None,
        typer.Option(
            "--capacity",
            metavar="SIZE",
            help="A size in bytes, such as 500GiB, for a model; can be given several times.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="PATH",
            help="A model's config.json, or a folder with one.",
            show_default=False,
        ),
    ] = None,
    bytes_per_token: Annotated[
        str | None,
        typer.Option(
            "--bytes-per-token",
            metavar="SIZE",
            help="Bytes of KV cache for a token, instead of --model.",
            show_default=False,
        ),
    ] = None,
    kv_cache_dtype: Annotated[
        str, typer.Option("--kv-cache-dtype", help="The type of the KV cache, such as fp8.")
    ] = "auto",
    block_tokens: Annotated[
        int | None,
        typer.Option(
            "--block-tokens",
            min=1,
            help="Tokens of a block. [default: 512 for Mooncake, else 16]",
            show_default=False,
        ),
    ] = None,
    count_partial: Annotated[
        bool,
        typer.Option(
            "--count-partial",
            help="Count the partial block at each prompt's end too; engines cache full ones only.",
        ),
    ] = False,
    shared_tokens: Annotated[
        int,
        typer.Option(
            "--shared-tokens",
            min=0,
            help="Tokens that all prompts begin with, for traces that have no content.",
        ),
    ] = 0,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Go on behind lines that cannot be used.")
    ] = False,
    instances: Annotated[
        int, typer.Option("--instances", min=1, help="Engines that could have private pools.")
    ] = 8,
    policy: Annotated[
        str, typer.Option("--policy", help="The policy to recommend a size for.")
    ] = "density",
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the curves, as SVG.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a cache would hit of a recorded trace, and how large it should be."""
    from pegaflow.planning import ReadOptions, make_plan, read_trace
    from pegaflow.planning.chart import svg
    from pegaflow.planning.plan import BELADY, capacities

    context: AppContext = ctx.obj
    options = ReadOptions(block_tokens, count_partial, shared_tokens, skip_bad)
    recorded = read_trace(trace, options, _progress(context))
    token = _token_bytes(model, bytes_per_token, kv_cache_dtype)
    sizes = _sizes(capacity_blocks, capacity, recorded, token) or capacities(recorded)
    policies = [name for name in recorded.recorded.policies() if name != BELADY]
    if policy not in policies:
        raise ConfigError(f"--policy {policy!r} is not known; allowed: {', '.join(policies)}")
    planned = make_plan(recorded, sizes, policy, instances)
    if plot is not None:
        _write(plot, svg(planned, f"Blocks hit of {trace.name}"))
    for line in recorded.skipped:
        note(context, f"skipped {line}")
    if json:
        write_json(context, "plan", _document(recorded, token, planned))
    else:
        write_tables(context, tables(recorded, token, planned))
        write_line(context, f"\n{planned.recommendation}.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--plot {path} cannot be written: {error.strerror}") from error


def _progress(context: AppContext) -> Any:
    said = 0

    def progress(done: int) -> None:
        nonlocal said
        if done >= said + _PROGRESS_BYTES:
            said = done
            note(context, f"{format_size(done)} read")

    return progress


def _token_bytes(
    model: Path | None, given: str | None, kv_cache_dtype: str
) -> "BytesPerToken | None":
    from pegaflow.planning import BytesPerToken, bytes_per_token

    if given is None:
        return bytes_per_token(model, kv_cache_dtype) if model else None
    try:
        size = parse_size(given)
    except ValueError as error:
        raise ConfigError(f"--bytes-per-token {given!r} cannot be used: {error}") from error
    if size == 0:
        raise ConfigError("--bytes-per-token 0 cannot be used: give a number from 1 on")
    return BytesPerToken(size, "given", f"{size} bytes, as given")


def _sizes(
    blocks: list[int] | None,
    sizes: list[str] | None,
    trace: "Trace",
    token: "BytesPerToken | None",
) -> list[int]:
    wanted = list(blocks or [])
    for text in sizes or []:
        if token is None:
            raise ConfigError(
                "--capacity in bytes needs the bytes of a token: give --model or "
                "--bytes-per-token, or --capacity-blocks"
            )
        try:
            wanted.append(max(parse_size(text) // (token.bytes * trace.block_tokens), 1))
        except ValueError as error:
            raise ConfigError(f"--capacity {text!r} cannot be used: {error}") from error
    return sorted(set(wanted))


def _document(trace: "Trace", token: "BytesPerToken | None", plan: "Plan") -> dict[str, Any]:
    block_bytes = token.bytes * trace.block_tokens if token else None
    return {
        "trace": {
            "format": trace.form,
            "requests": trace.requests,
            "duration_s": trace.duration_s,
            "prompt_tokens": trace.prompt_tokens,
            "block_tokens": trace.block_tokens,
            "blocks": trace.blocks,
            "distinct_blocks": trace.distinct_blocks,
            "reuse_model": trace.reuse_model,
            "skipped": trace.skipped,
        },
        "model": asdict(token) | {"block_bytes": block_bytes} if token else None,
        "ceiling_percent": plan.ceiling_percent,
        "policies": {
            name: [asdict(point) for point in points] for name, points in plan.curves.items()
        },
        "pools": asdict(plan.pools),
        "recommended_blocks": plan.recommended_blocks,
        "recommended_bytes": plan.recommended_blocks * block_bytes if block_bytes else None,
        "recommendation": plan.recommendation,
    }


def tables(trace: "Trace", token: "BytesPerToken | None", plan: "Plan") -> "Iterator[Table]":
    """The plan for people."""
    overview = table()
    rows = [
        (
            "trace",
            f"{trace.form}, {trace.requests:,} requests in {format_duration(trace.duration_s)}",
        ),
        ("reuse", trace.reuse_model),
        (
            "blocks",
            f"{trace.blocks:,} of {trace.block_tokens} tokens, {trace.distinct_blocks:,} differ",
        ),
        ("ceiling", f"{plan.ceiling_percent:g}% of the blocks were asked for before"),
    ]
    if token:
        rows.append(("token", f"{format_size(token.bytes)}: {token.formula}"))
    for row in rows:
        overview.add_row(*row)
    yield overview
    curves = table("blocks", *(["bytes"] if token else []), *plan.curves)
    for points in zip(*plan.curves.values(), strict=True):
        size = points[0].capacity_blocks
        held = [format_size(size * trace.block_tokens * token.bytes)] if token else []
        curves.add_row(f"{size:,}", *held, *(f"{point.hit_percent:.1f}" for point in points))
    yield curves
