"""Where the blocks that were asked for were."""

from textual.content import Content

from pegaflow.models import Blocks
from pegaflow.observe.rows import percent
from pegaflow.tui.drawing import bar
from pegaflow.tui.panels.panel import Panel, alert_lines, sentence
from pegaflow.tui.view import View

_STYLES = {"memory": "$success", "ssd": "$primary", "remote": "$secondary", "miss": "$warning"}


class HitsPanel(Panel):
    """The funnel: asked for = memory + ssd + remote + miss."""

    NAME = "hits"
    TITLE = "Hits"
    HELP = "Blocks asked for, and where they were: memory + ssd + remote + miss are all of them."

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
        lines += alert_lines(view, self.NAME)
        return lines + sentence(view.now.absent["ceiling"], width)

    def _place(self, name: str, blocks: Blocks, view: View, width: int) -> Content:
        count: int = getattr(blocks, name)
        share = count / blocks.requested if blocks.requested else 0.0
        drawn = bar(share, max(width - 23, 4), view.preferences.glyphs, _STYLES[name])
        return Content.assemble(f"{name:6}{count:>10,}{share:>5.0%} ", drawn)
