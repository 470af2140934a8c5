"""``pegaflow bench transfer``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pegaflow.cli.bench.options import Quick
from pegaflow.cli.context import AppContext
from pegaflow.cli.options import Json
from pegaflow.cli.output import note, table, write_json, write_tables

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.bench.transfer import Rate, TransferReport


def transfer(
    ctx: typer.Context,
    device: Annotated[
        str,
        typer.Option(
            "--device", metavar="auto|cpu|cuda", help="Where the engines' memory is measured."
        ),
    ] = "auto",
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Measure saves, loads and lookups against plain copies.

    A daemon of its own moves fresh random bytes of a simulated engine, in each layout that vLLM
    has. On a GPU the limit is one large copy by cupy, without one it is memcpy. Settings in
    `PEGAFLOW_*` variables hold for that daemon.
    """
    from pegaflow.bench.transfer import Plan, find_device, measure

    context: AppContext = ctx.obj
    where = find_device(device)
    plan = Plan.of(where, is_quick=quick)
    report = measure(where, plan, lambda text: note(context, f"measuring: {text}"))
    if json:
        write_json(context, "bench-transfer", report.document())
    else:
        write_tables(context, _tables(report))


def _tables(report: "TransferReport") -> "Iterator[Table]":
    limit = report.limit
    yield _limit(report)
    rates = table("layout", "run", "blocks", "save", "of limit", "load", "of limit")
    for layout in report.layouts:
        run = f"{layout.runs} x {layout.run_bytes / 1024:g} KiB"
        for size in layout.sizes:
            rates.add_row(layout.name, run, str(size.blocks), *_cells(size.save, size.load))
        if layout.batch_save_gb_s is not None and layout.batch_load_gb_s is not None:
            batch = (layout.batch_save_gb_s, layout.batch_load_gb_s)
            parts = (batch[0] / limit.save, batch[1] / limit.load)
            cells = [f"{batch[0]:.1f}", f"{parts[0]:.0%}", f"{batch[1]:.1f}", f"{parts[1]:.0%}"]
            rates.add_row(layout.name, run, "batch call", *cells)
        both = layout.duplex
        rates.add_row(layout.name, run, "both at once", f"{both.gb_s:.1f}", f"{both.of_limit:.0%}")
    yield rates
    few = table("blocks", "lookup us", "load us", "together us", "copy us", "of copy + 2 trips")
    for lap in report.latencies:
        row = (lap.blocks, lap.lookup_us, lap.load_us, lap.total_us, lap.copy_us, lap.of_bound)
        few.add_row(*map(str, row))
    yield few


def _limit(report: "TransferReport") -> "Table":
    limit = report.limit
    overview = table()
    overview.add_row("device", report.device)
    rates = f"save {limit.save} GB/s, load {limit.load} GB/s, both {limit.duplex} GB/s together"
    overview.add_row("limit", f"{rates} ({limit.how})")
    overview.add_row("round trip", f"{report.round_trip_us} us")
    overview.add_row("lookup of 1,024 hashes", f"{report.lookup_us} us")
    overview.add_row("rates", "GB/s, medians; bytes were compared in each layout")
    return overview


def _cells(save: "Rate", load: "Rate") -> list[str]:
    return [f"{save.gb_s:.1f}", f"{save.of_limit:.0%}", f"{load.gb_s:.1f}", f"{load.of_limit:.0%}"]
