"""What leaves, and how fast."""

from textual.content import Content

from pegaflow.tui.drawing import sparkline
from pegaflow.tui.panels.panel import Panel, sentence
from pegaflow.tui.view import View


class EvictionsPanel(Panel):
    """Blocks evicted from memory and from ssd."""

    NAME = "evictions"
    TITLE = "Evictions"
    HELP = "Blocks that left memory and ssd in the window, and those that came in."

    def lines(self, view: View, width: int) -> list[Content]:
        """Counts, and a graph of memory's."""
        counted = view.counted.evictions
        values = [snapshot.evictions.memory_per_s for snapshot in view.recent[1:]]
        marks = {index - 1 for index in view.restarts}
        graph = sparkline(values, max(width - 22, 4), view.preferences.glyphs, marks)
        now = f"{view.now.evictions.memory_per_s:>9,.0f}/s "
        return [
            Content.assemble(("memory", "bold"), now, graph),
            Content(f"{counted.memory_blocks:,} left memory, {counted.ssd_blocks:,} left ssd"),
            Content(f"{counted.admissions:,} came in, {counted.kept_blocks:,} kept on ssd"),
            Content.styled(f"policy {view.now.daemon.policy}, {view.window}", "$text-muted"),
            *sentence(view.now.absent["residence"], width),
            *sentence(view.now.absent["ghost"], width),
        ]
