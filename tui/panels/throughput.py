"""How fast bytes move."""

from collections.abc import Sequence
from typing import Final

from pegaflow.observe.snapshot import Flow
from pegaflow.tui.drawing import fit, graph, rate
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import Panel, alert_lines
from pegaflow.tui.view import View

_WIDE: Final = 46
"""From this width on there is room for the end of the axis."""

_HEAD: Final = 23
"""Cells of a name and a rate."""

_HIGHEST: Final = 3
"""Lines of a graph at most."""


class ThroughputPanel(Panel):
    """A graph for each direction, up to what its tier can do, or the fastest that was seen."""

    NAME = "throughput"
    TITLE = "Throughput"
    HELP = (
        "Bytes a second by direction. Graphs of ssd reach up to what its disks were measured to "
        "do, the others up to the fastest seen; a dashed line is a restart of the daemon."
    )

    def __init__(self, digit: str) -> None:
        super().__init__(digit)
        self._flows = self._others = 0
        """Graphs, and lines that are none."""

    def lines(self, view: View, width: int) -> list[Line]:
        """Rate, graph and axis of each."""
        flows = view.now.flows
        others = [styled(view.now.absent["remote"], "$text-muted italic")]
        others += alert_lines(view, self.NAME)
        self._flows, self._others = len(flows), len(others)
        room = (self.room - len(others)) // len(flows)
        height = 1 if self.is_compact else min(max(room, 1), _HIGHEST)
        return [line for flow in flows for line in _graph(flow, view, width, height)] + others

    def range_of_lines(self, lines: Sequence[Line]) -> tuple[int, int]:
        """Graphs of one line, or of several."""
        if self.is_compact:
            return super().range_of_lines(lines)
        return self._flows + self._others, self._flows * _HIGHEST + self._others


def _graph(flow: Flow, view: View, width: int, height: int) -> list[Line]:
    values = [point.rates.get(flow.name, 0.0) for point in view.recent]
    axis = max(flow.tier_bytes_per_s or 0.0, *values, 0.0)
    end = 11 if width >= _WIDE else 0
    drawn = graph(
        values,
        max(width - _HEAD - end, 4),
        height,
        view.preferences.glyphs,
        view.restarts,
        top=axis,
    )
    head = styled(f"{flow.name:10}", "bold")
    head += styled(fit(rate(flow.bytes_per_s), 12, right=True) + " ")
    top = styled(fit(rate(axis), end, right=True) if end else "", "$text-muted")
    rest = [styled(" " * _HEAD) + line for line in drawn[1:]]
    return [head + drawn[0] + top, *rest]
