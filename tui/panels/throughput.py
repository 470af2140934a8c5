"""How fast bytes move."""

from typing import Final

from textual.content import Content

from pegaflow.tui.drawing import fit, rate, sparkline
from pegaflow.tui.panels.panel import Panel, alert_lines
from pegaflow.tui.view import View

_WIDE: Final = 46
"""From this width on there is room for the fastest."""


class ThroughputPanel(Panel):
    """A graph for each direction, up to the fastest that was seen."""

    NAME = "throughput"
    TITLE = "Throughput"
    HELP = "Bytes a second by direction; graphs reach up to the fastest seen, a line is a restart."

    def lines(self, view: View, width: int) -> list[Content]:
        """Rate, graph and fastest of each."""
        lines = []
        tops = 11 if width >= _WIDE else 0
        for flow in view.now.flows:
            values = [snapshot.rates.get(flow.name, 0.0) for snapshot in view.recent[1:]]
            graph = sparkline(
                values,
                max(width - 23 - tops, 4),
                view.preferences.glyphs,
                {index - 1 for index in view.restarts},
            )
            fastest = rate(max(values, default=0.0))
            lines.append(
                Content.assemble(
                    (f"{flow.name:10}", "bold"),
                    fit(rate(flow.bytes_per_s), 12, right=True),
                    " ",
                    graph,
                    (fit(fastest, tops, right=True) if tops else "", "$text-muted"),
                )
            )
        lines.append(Content.styled(view.now.absent["remote"], "$text-muted italic"))
        return lines + alert_lines(view, self.NAME)
