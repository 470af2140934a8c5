"""Where the blocks that were asked for were."""

from typing import Final

from textual.content import Content

from pegaflow.models import Blocks
from pegaflow.observe.rows import percent
from pegaflow.tui.drawing import bar
from pegaflow.tui.panels.panel import Panel, alert_lines
from pegaflow.tui.view import View

_WINDOWS: Final = {900: "15 m", 3600: "1 h", 86400: "24 h"}
_STYLES = {"memory": "$success", "ssd": "$primary", "remote": "$secondary", "miss": "$warning"}


class HitsPanel(Panel):
    """The funnel: asked for = memory + ssd + remote + miss."""

    NAME = "hits"
    TITLE = "Hits"
    HELP = (
        "Blocks asked for, and where they were: memory + ssd + remote + miss are all of them. "
        "Lost ones were cached once. The ceiling is what an endless cache would have hit."
    )

    def lines(self, view: View, width: int) -> list[Content]:
        """A bar for each place."""
        blocks = view.counted.window_blocks
        lines = [
            Content.assemble(
                ("asked ", "bold"), f"{blocks.requested:>10,} ", (view.window, "$text-muted")
            )
        ]
        lines += [self._place(name, blocks, view, width) for name in _STYLES]
        total = view.now.blocks
        lines.append(
            Content.styled(
                f"since start {total.requested:,}, {percent(total.hit_rate)} hits", "$text-muted"
            )
        )
        lines += _reasons(view, width)
        return lines + alert_lines(view, self.NAME)

    def _place(self, name: str, blocks: Blocks, view: View, width: int) -> Content:
        count: int = getattr(blocks, name)
        share = count / blocks.requested if blocks.requested else 0.0
        drawn = bar(share, max(width - 23, 4), view.preferences.glyphs, _STYLES[name])
        return Content.assemble(f"{name:6}{count:>10,}{share:>5.0%} ", drawn)


def _reasons(view: View, width: int) -> list[Content]:
    """Why blocks were missed, what larger pools would have hit, and what no pool can exceed."""
    misses = view.counted.misses
    told = [("new", misses.new), ("lost", misses.lost)]
    told += [
        (reason, count)
        for reason, count in misses.reasons.items()
        if reason in ("declined", "unfetched") and count
    ]
    ghosts = [
        f"{times}x {count:,}" for times, count in misses.ghost_hits.items() if count or times == "2"
    ]
    tops = [
        f"{_WINDOWS.get(ceiling.window_s, ceiling.window_s)} {percent(ceiling.hit_share)}"
        for ceiling in view.now.ceilings
    ]
    rows = [("missed", [f"{name} {count:,}" for name, count in told]), ("a pool of", ghosts)]
    texts = [f"{name} {', '.join(parts)}" for name, parts in rows if parts]
    if ghosts:
        texts[-1] += " more hits"
    if tops:
        texts.append(f"ceiling {', '.join(tops)}")
    return [line for text in texts for line in Content(text).wrap(width)]
