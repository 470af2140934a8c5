"""Where the blocks that were asked for were."""

from collections.abc import Iterator
from typing import Final

from pegaflow.models import Blocks
from pegaflow.observe.rows import percent
from pegaflow.tui.drawing import bar, packed, stacked
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import Panel, alert_lines
from pegaflow.tui.view import View

_WINDOWS: Final = {900: "15 m", 3600: "1 h", 86400: "24 h"}
_STYLES: Final = {
    "memory": "$success",
    "ssd": "$primary",
    "remote": "$primary-lighten-3",
    "miss": "$warning",
}
_SHORT: Final = {"memory": "mem", "ssd": "ssd", "remote": "rem", "miss": "miss"}


class HitsPanel(Panel):
    """The funnel: asked for = memory + ssd + remote + miss."""

    NAME = "hits"
    TITLE = "Hits"
    HELP = (
        "Blocks asked for, and where they were: memory + ssd + remote + miss are all of them. "
        "Lost ones were cached once. The ceiling is what an endless cache would have hit."
    )

    def lines(self, view: View, width: int) -> list[Line]:
        """A bar for each place, then why blocks were missed."""
        blocks = view.counted.window_blocks
        heading: Line = (
            ("asked ", "bold"),
            (f"{blocks.requested:>10,} ", ""),
            (f"{_hits(blocks)}{view.window}", "$text-muted"),
        )
        if self.is_compact:
            return [heading, *_short(blocks, view, width), *_reasons(view, width)]
        total = view.now.blocks
        since = f"since start {total.requested:,}, {percent(total.hit_rate)} hits"
        return [
            heading,
            *(_place(name, blocks, view, width) for name in _STYLES),
            styled(since, "$text-muted"),
            *_reasons(view, width),
            *alert_lines(view, self.NAME),
        ]


def _hits(blocks: Blocks) -> str:
    return "" if blocks.hit_rate is None else f"{percent(blocks.hit_rate)} hits, "


def _share(name: str, blocks: Blocks) -> float:
    count: int = getattr(blocks, name)
    return count / blocks.requested if blocks.requested else 0.0


def _place(name: str, blocks: Blocks, view: View, width: int) -> Line:
    share = _share(name, blocks)
    drawn = bar(share, max(width - 23, 4), view.preferences.glyphs, _STYLES[name])
    return styled(f"{name:6}{getattr(blocks, name):>10,}{share:>5.0%} ") + drawn


def _short(blocks: Blocks, view: View, width: int) -> Iterator[Line]:
    """All places in one bar, and in one line."""
    shares = [(_share(name, blocks), style) for name, style in _STYLES.items()]
    yield stacked(shares, width, view.preferences.glyphs)
    yield tuple(
        (f"{_SHORT[name]} {_share(name, blocks):.0%} ", style) for name, style in _STYLES.items()
    )


def _reasons(view: View, width: int) -> Iterator[Line]:
    """Why blocks were missed, what larger pools would have hit, and what no pool can exceed."""
    misses = view.counted.misses
    told = [f"missed: {misses.new:,} never seen", f"{misses.lost:,} lost"]
    told += [
        f"{misses.reasons[reason]:,} {reason}"
        for reason in ("declined", "unfetched")
        if misses.reasons.get(reason)
    ]
    ghosts = [
        f"{times}x +{count:,}"
        for times, count in misses.ghost_hits.items()
        if count or times == "2"
    ]
    tops = [
        f"{_WINDOWS.get(ceiling.window_s, ceiling.window_s)} {percent(ceiling.hit_share)}"
        for ceiling in view.now.ceilings
    ]
    rows = [told]
    if ghosts:
        rows.append([f"larger pool: {ghosts[0]}", *ghosts[1:]])
    if tops:
        rows.append([f"ceiling {tops[0]}", *tops[1:]])
    for parts in rows:
        yield from map(styled, packed(parts, width, ", "))
