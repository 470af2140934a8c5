"""Where the panels lie: in rows over the whole width, as high as the terminal has room for."""

from collections.abc import Iterable, Sequence
from typing import Final

from textual.containers import VerticalScroll
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.widget import Widget

from pegaflow.tui.panels import Panel
from pegaflow.tui.panels.panel import FRAME

_WIDTHS: Final = ((160, 4), (76, 2))
"""From which width on there are how many columns."""


class PanelRows(Layout):
    """Fills each row to its end, and gives lines that are left to panels that have more to show."""

    name = "panel-rows"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        """Where each panel lies."""
        columns = next((count for least, count in _WIDTHS if size.width >= least), 1)
        rows = list(_rows([one for one in children if isinstance(one, Panel)], columns))
        placements, y = list[WidgetPlacement](), 0
        for row, height in zip(rows, _heights(rows, size.height), strict=True):
            for panel, first, end in row:
                x, x_end = (size.width * column // columns for column in (first, end))
                region = Region(x, y, x_end - x, height)
                placements.append(WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, panel))
            y += height
        return placements


class PanelGrid(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The panels; what keys do to it is the app's to say."""

    BLANK = True
    _rows = PanelRows()

    @property
    def layout(self) -> Layout:
        """Rows of panels."""
        return self._rows

    class Moved(Message):
        """Other panels have come into sight."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell those who have not drawn what nobody could see."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())


Row = Sequence[tuple[Panel, int, int]]
"""Panels, each with its first column and the one after its last."""


def _rows(panels: Iterable[Panel], columns: int) -> Iterable[Row]:
    """Panels in their order; the last one of a row takes the columns that are left."""
    row, used = list[tuple[Panel, int, int]](), 0
    for panel in panels:
        span = min(2 if panel.WIDE else 1, columns)
        if used + span > columns:
            yield _filled(row, columns)
            row, used = [], 0
        row.append((panel, used, used + span))
        used += span
    if row:
        yield _filled(row, columns)


def _filled(row: Row, columns: int) -> Row:
    panel, first, _ = row[-1]
    return [*row[:-1], (panel, first, columns)]


def _heights(rows: Sequence[Row], room: int) -> list[int]:
    """Lines of each row: what its highest panel needs, and what is left of ``room``, in turns."""
    heights = [FRAME + max(panel.least_lines for panel, *_ in row) for row in rows]
    wanted = [FRAME + max(panel.most_lines for panel, *_ in row) for row in rows]
    spare = room - sum(heights)
    while spare > 0 and heights != wanted:
        for index, most in enumerate(wanted):
            if spare > 0 and heights[index] < most:
                heights[index] += 1
                spare -= 1
    return heights
