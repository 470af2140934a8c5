"""Where the panels lie."""

from textual.containers import VerticalScroll
from textual.layout import Layout
from textual.layouts.grid import GridLayout


class PanelGrid(VerticalScroll, can_focus=False):
    """Columns of panels, as many as the terminal has room for; panels of a row are as high."""

    def pre_layout(self, layout: Layout) -> None:
        """No panel of a row ends before the others."""
        assert isinstance(layout, GridLayout)
        layout.stretch_height = True
