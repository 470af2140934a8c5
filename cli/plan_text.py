"""A plan as a document, and as tables for people."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pegaflow.cli.output import table
from pegaflow.units import format_duration, format_size

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from pegaflow.planning import BytesPerToken, Plan, Trace, Worth


def document(
    trace: "Trace",
    token: "BytesPerToken | None",
    plan: "Plan",
    worth: "Worth",
    break_even: float | None,
) -> dict[str, Any]:
    """The ``plan`` document."""
    block_bytes = worth.block_bytes
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
            "skipped_lines": trace.skipped_lines,
            "notes": trace.notes,
        },
        "model": asdict(token) | {"block_bytes": block_bytes} if token else None,
        "ceiling_percent": plan.ceiling_percent,
        "policies": {
            name: [asdict(point) for point in points] for name, points in plan.curves.items()
        },
        "pools": asdict(plan.pools),
        "tiers": [asdict(point) for point in plan.tiers],
        "loading": [asdict(loading) for loading in worth.loadings],
        "break_even_bytes_s": break_even,
        "recommended_blocks": plan.recommended_blocks,
        "recommended_bytes": plan.recommended_blocks * block_bytes if block_bytes else None,
        "recommendation": plan.recommendation,
    }


def tables(
    trace: "Trace",
    token: "BytesPerToken | None",
    plan: "Plan",
    worth: "Worth",
    break_even: float | None,
) -> "Iterator[Table]":
    """The plan for people."""
    overview = table()
    for row in _overview(trace, token, plan, worth, break_even):
        overview.add_row(*row)
    yield overview
    yield _curves(plan, worth.block_bytes)
    pools = plan.pools
    behind = table("ssd blocks", *(["bytes"] if token else []), "memory", "ssd", "together")
    for point in plan.tiers:
        held = [format_size(point.ssd_blocks * worth.block_bytes)] if worth.block_bytes else []
        together = point.memory_percent + point.ssd_percent
        parts = (point.memory_percent, point.ssd_percent, together)
        behind.add_row(f"{point.ssd_blocks:,}", *held, *(f"{part:.1f}" for part in parts))
    behind.title = _title(f"behind {pools.capacity_blocks:,} blocks of memory under {pools.policy}")
    behind.title_justify = "left"
    yield behind


def _title(text: str) -> "Text":
    """Above a table, on one line however narrow the table is."""
    from rich.text import Text

    return Text(text, style="table.title", no_wrap=True, overflow="ignore")


def _overview(
    trace: "Trace",
    token: "BytesPerToken | None",
    plan: "Plan",
    worth: "Worth",
    break_even: float | None,
) -> Iterator[tuple[str, str]]:
    duration = format_duration(trace.duration_s)
    yield "trace", f"{trace.form}, {trace.requests:,} requests in {duration}"
    yield "reuse", trace.reuse_model
    blocks = f"{trace.blocks:,} of {trace.block_tokens} tokens, {trace.distinct_blocks:,} differ"
    yield "blocks", blocks
    yield "ceiling", f"{plan.ceiling_percent:g}% of the blocks were asked for before"
    if token:
        yield "token", f"{format_size(token.bytes)}: {token.formula}"
    if worth.block_bytes:
        yield "block", format_size(worth.block_bytes)
    for loading in worth.loadings:
        yield (
            loading.tier,
            f"a token is loaded in {loading.load_us:g} us, computed in {loading.compute_us:g} us: "
            f"{loading.gain:g} times as long",
        )
    if break_even:
        yield "break-even", f"loading is faster from {format_size(round(break_even))} a second on"


def _curves(plan: "Plan", block_bytes: int | None) -> "Table":
    curves = table("blocks", *(["bytes"] if block_bytes else []), *plan.curves)
    for points in zip(*plan.curves.values(), strict=True):
        size = points[0].capacity_blocks
        held = [format_size(size * block_bytes)] if block_bytes else []
        curves.add_row(f"{size:,}", *held, *(f"{point.hit_percent:.1f}" for point in points))
    curves.title = _title(
        "% of the blocks that are hits; belady knows the future, so none has more"
    )
    curves.title_justify = "left"
    return curves
