"""``pegaflow plan --live``: what pools of other sizes would have hit, as the daemon saw it."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import table, write_json, write_line, write_tables
from pegaflow.errors import PegaflowError
from pegaflow.units import format_count, format_size

if TYPE_CHECKING:
    from pegaflow.models import Status


def show_live(context: AppContext, status: "Status", json: bool) -> None:
    """The daemon's curve, with a sentence on what twice the pool would bring."""
    what_if = status.what_if
    if what_if is None:
        raise PegaflowError("the daemon knows no curve: restart it with this version")
    if json:
        write_json(context, "what-if", asdict(what_if) | {"pool_bytes": status.pool.bytes})
        return
    if not what_if.points:
        write_line(context, "no block was asked for yet: ask again when engines have had requests")
        return
    rows = table("pool", f"would hit under {what_if.policy}", "")
    for point in what_if.points:
        mark = "as it is" if point.pool_bytes == status.pool.bytes else ""
        about = "~" if point.is_rough else ""
        rows.add_row(format_size(point.pool_bytes), f"{about}{point.hit_percent:.1f}%", mark)
    write_tables(context, [rows])
    write_line(
        context,
        f"\nof {what_if.seen_blocks:,} blocks asked for, {what_if.sampled_blocks:,} sampled.",
    )
    if any(point.is_rough for point in what_if.points):
        write_line(
            context,
            "~: may be off by more than 2 points: the sample is too small for this size, or "
            "the policy lets single blocks of prompts go.",
        )
    if what_if.is_early(status.cached_blocks):
        write_line(
            context,
            f"that is fewer than the {format_count(status.cached_blocks, 'block')} in the pool, "
            "so the curve is too low yet: ask again later.",
        )
    more = status.points_more(2)
    if more is not None:
        memory = 100 * status.blocks.memory / status.blocks.requested
        write_line(
            context,
            f"since the start {memory:.1f}% were hit in memory: "
            f"twice the pool would hit {more:.1f} points more.",
        )
