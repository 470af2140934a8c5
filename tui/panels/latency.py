"""How long things take."""

from typing import Final

from pegaflow.tui.drawing import duration, fit
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import Panel, alert_lines
from pegaflow.tui.view import View

_WIDE: Final = 45
"""From this width on there is room for counts."""


class LatencyPanel(Panel):
    """Quantiles of the window, from the differences of histograms."""

    NAME = "latency"
    TITLE = "Latency"
    HELP = "p50, p95 and p99 of what ended in the window, within a bucket's width (from 50 us up)."

    def lines(self, view: View, width: int) -> list[Line]:
        """A row for each kind."""
        heads = ("p50", "p95", "p99", "count")[: 4 if width >= _WIDE else 3]
        heading = fit(view.window, 9) + "".join(fit(head, 9, right=True) for head in heads)
        lines = [styled(heading, "$text-muted bold")]
        for latency in view.counted.latencies:
            cells = [*map(duration, (latency.p50_s, latency.p95_s, latency.p99_s))]
            cells.append(f"{latency.count:,}")
            text = "".join(fit(cell, 9, right=True) for cell in cells[: len(heads)])
            lines.append(styled(f"{latency.name:9}", "bold") + styled(text))
        lines.append(styled(view.now.absent["remote"], "$text-muted italic"))
        return lines + alert_lines(view, self.NAME)
