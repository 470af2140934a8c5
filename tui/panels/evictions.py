"""What leaves, and how fast."""

from pegaflow.observe.snapshot import Ages, Evictions
from pegaflow.tui.drawing import age, fit, graph
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import Panel
from pegaflow.tui.view import View


class EvictionsPanel(Panel):
    """Blocks evicted from memory and from ssd."""

    NAME = "evictions"
    TITLE = "Evictions"
    HELP = "Blocks that left memory and ssd in the window, why, how old, and those that came in."

    def lines(self, view: View, width: int) -> list[Line]:
        """Counts, and a graph of memory's."""
        counted = view.counted.evictions
        values = [point.evictions_per_s for point in view.recent]
        (drawn,) = graph(values, max(width - 18, 4), 1, view.preferences.glyphs, view.restarts)
        now = f"{view.now.evictions.memory_per_s:>9,.0f}/s "
        return [
            styled("memory", "bold") + styled(now) + drawn,
            styled(f"{counted.memory_blocks:,} left memory, {counted.ssd_blocks:,} left ssd"),
            styled(f"{counted.admissions:,} came in, {counted.kept_blocks:,} kept on ssd"),
            styled(f"policy {view.now.daemon.policy}, {view.window}", "$text-muted"),
            styled(f"why: {_reasons(counted)}"),
            styled("age        p50     p95     p99", "$text-muted bold"),
            _ages("stayed", counted.residence),
            _ages("unused", counted.idle),
        ]


def _reasons(evictions: Evictions) -> str:
    """Why blocks left memory."""
    counts = [
        f"{count:,} {reason.replace('_', ' ')}"
        for reason, count in evictions.reasons.items()
        if count
    ]
    return f"{', '.join(counts)}; {evictions.unfound_blocks:,} never found" if counts else "none"


def _ages(name: str, ages: Ages) -> Line:
    """How old they were."""
    cells = (age(one) for one in (ages.p50_s, ages.p95_s, ages.p99_s))
    return styled(name + "".join(fit(cell, 8, right=True) for cell in cells))
