"""Lines of text on the terminal, without what Textual does for those that have to be folded."""

from rich.segment import Segment
from rich.style import Style
from textual.filter import ANSIToTruecolor
from textual.strip import Strip
from textual.widget import Widget

from pegaflow.tui.line import Line


class Look:
    """The colours of a widget, which are the same until its style changes."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._base = widget.visual_style
        self._background = widget.background_colors[1]
        # Themes have no ANSI colours that would have to be found in a table.
        self._filters = [
            one for one in widget.get_line_filters() if not isinstance(one, ANSIToTruecolor)
        ]
        self._styles: dict[str, Style] = {"": self._base.rich_style}

    def strip(self, line: Line, width: int) -> Strip:
        """A line that takes ``width`` cells, on the terminal."""
        strip = Strip([Segment(text, self._style(style)) for text, style in line if text], width)
        for line_filter in self._filters:
            strip = strip.apply_filter(line_filter, self._background)
        return strip

    def _style(self, style: str) -> Style:
        found = self._styles.get(style)
        if found is None:
            found = (self._base + self._widget._get_style(style)).rich_style
            self._styles[style] = found
        return found
