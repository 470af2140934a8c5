"""What leaves, and how fast."""

from textual.content import Content

from pegaflow.observe.snapshot import Ages, Evictions
from pegaflow.tui.drawing import age, sparkline
from pegaflow.tui.panels.panel import Panel
from pegaflow.tui.view import View


class EvictionsPanel(Panel):
    """Blocks evicted from memory and from ssd."""

    NAME = "evictions"
    TITLE = "Evictions"
    HELP = "Blocks that left memory and ssd in the window, why, how old, and those that came in."

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
            *_facts(counted, width),
        ]


def _facts(evictions: Evictions, width: int) -> list[Content]:
    """Why blocks left memory, and how old they were."""
    reasons = [
        f"{reason.replace('_', ' ')} {count:,}"
        for reason, count in evictions.reasons.items()
        if count
    ]
    if not reasons:
        return []
    texts = [
        f"{', '.join(reasons)}; {evictions.unfound_blocks:,} never found",
        f"stayed {_ages(evictions.residence)}",
        f"unused {_ages(evictions.idle)}",
    ]
    return [line for text in texts for line in Content(text).wrap(width)]


def _ages(ages: Ages) -> str:
    return f"p50 {age(ages.p50_s)}, p95 {age(ages.p95_s)}, p99 {age(ages.p99_s)}"
