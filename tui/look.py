"""Lines of text on the terminal, without what Textual does for those that have to be folded."""

from collections.abc import Iterable

from rich.segment import Segment
from textual.content import Content
from textual.filter import ANSIToTruecolor
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget


class Look:
    """The colours of a widget, which are the same until its style changes."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._base = widget.visual_style
        self._plain = self._base.rich_style
        self._background = widget.background_colors[1]
        # Themes have no ANSI colours that would have to be found in a table.
        self._filters = [
            one for one in widget.get_line_filters() if not isinstance(one, ANSIToTruecolor)
        ]
        self._styles: dict[str | Style, Style] = {}

    def strip(self, parts: Iterable[Content | tuple[str, str]], width: int) -> Strip:
        """Parts of a line, which take ``width`` cells together, on the terminal."""
        segments = list[Segment]()
        for part in parts:
            if not part or (isinstance(part, tuple) and not part[0]):
                continue
            if isinstance(part, Content) and not part.spans:
                segments.append(Segment(part.plain, self._plain))
            elif isinstance(part, Content):
                segments += [
                    Segment(text, style.rich_style)
                    for text, style in part.render(self._base, "", self._style)
                ]
            else:
                segments.append(Segment(part[0], (self._base + self._style(part[1])).rich_style))
        strip = Strip(segments, width)
        for line_filter in self._filters:
            strip = strip.apply_filter(line_filter, self._background)
        return strip

    def _style(self, style: str | Style) -> Style:
        found = self._styles.get(style)
        if found is None:
            found = self._styles[style] = self._widget._get_style(style)
        return found
