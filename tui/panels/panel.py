"""What all panels share: a frame, a title with a sign, and lines that are drawn only anew."""

from functools import lru_cache
from typing import ClassVar

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from pegaflow.tui.drawing import signed
from pegaflow.tui.glyphs import SIGNS
from pegaflow.tui.view import View


class Panel(Widget, can_focus=True):
    """One panel; a subclass draws its lines."""

    NAME: ClassVar[str]
    """What alerts, keys and the palette call it."""
    TITLE: ClassVar[str]
    HELP: ClassVar[str]
    """What it shows, for the help screen."""
    WIDE: ClassVar[bool] = False
    """Whether it takes two columns."""

    def __init__(self, digit: str) -> None:
        super().__init__(id=self.NAME)
        self.digit = digit
        self.view: View | None = None
        self._lines: list[Content] = []
        self._strips: dict[int, Strip] = {}
        """Lines as they are on the terminal, so that those that stay as they are cost nothing."""
        self._styles: dict[str | Style, Style] = {}
        self._base: Style | None = None
        """The colours of the panel, which are the same until its style changes."""
        self.border_title = f"{digit} {self.TITLE}"

    def lines(self, view: View, width: int) -> list[Content]:
        """What it shows in ``width`` columns."""
        raise NotImplementedError

    def show(self, view: View) -> None:
        """Draw the view, if it looks different from what is there."""
        self.view = view
        level = view.level(self.NAME)
        sign = f" {SIGNS[level]}" if SIGNS[level] else ""
        title = f"{self.digit} {self.TITLE}{sign}"
        if self.border_title != title:
            self.border_title = title
            self.set_class(level == "warning", "-warning")
            self.set_class(level == "critical", "-critical")
        self._draw()

    def render(self) -> Content:
        """The lines that were drawn last."""
        return Content("\n").join(self._lines)

    def render_line(self, y: int) -> Strip:
        """One of the lines, on the terminal."""
        if (strip := self._strips.get(y)) is None:
            line = self._lines[y] if y < len(self._lines) else Content("")
            strip = self._strips[y] = self._strip(line)
        return strip

    def _styled(self, style: str | Style) -> Style:
        found = self._styles.get(style)
        if found is None:
            found = self._styles[style] = self._get_style(style)
        return found

    def _strip(self, line: Content) -> Strip:
        """A line that fits, without what Textual does for those that have to be folded."""
        if self._base is None:
            self._base = self.visual_style
        parts = line.render(self._base, "", self._styled)
        segments = [Segment(text, style.rich_style) for text, style in parts]
        return Strip(segments).adjust_cell_length(self.size.width, self._base.rich_style)

    def notify_style_update(self) -> None:
        """Draw in the new colours."""
        self._strips.clear()
        self._styles.clear()
        self._base = None
        super().notify_style_update()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as its lines, which are never folded."""
        return max(len(self._lines), 1)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._strips.clear()
        self._draw()

    @property
    def is_maximised(self) -> bool:
        """Whether it has the screen for itself."""
        return self.screen.maximized is self

    def _draw(self) -> None:
        width = self.content_size.width
        if self.view is None or width <= 0:
            return
        lines = [line.truncate(width) for line in self.lines(self.view, width)]
        if self.view.preferences.compact and not self.is_maximised:
            lines = lines[:3]
        before, self._lines = self._lines, lines
        if len(lines) != len(before):
            self._strips.clear()
            self.refresh(layout=True)
            return
        changed = [y for y, line in enumerate(lines) if not line.is_same(before[y])]
        for y in changed:
            self._strips.pop(y, None)
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))


def sentence(text: str, width: int) -> list[Content]:
    """A remark, in as many lines as it takes."""
    return list(_folded(text, width))


@lru_cache(maxsize=256)
def _folded(text: str, width: int) -> tuple[Content, ...]:
    return tuple(Content.styled(text, "$text-muted italic").wrap(width))


def alert_lines(view: View, panel: str) -> list[Content]:
    """The alerts of a panel, a line each."""
    return [signed(alert.level, alert.text) for alert in view.alerts(panel)]
