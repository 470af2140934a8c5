"""What all panels share: a frame, a title with a sign, and lines that are drawn only anew."""

from functools import lru_cache
from typing import ClassVar

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.visual import Visual
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
            (strip,) = Visual.to_strips(self, line, self.size.width, 1, self.visual_style)
            self._strips[y] = strip
        return strip

    def notify_style_update(self) -> None:
        """Draw in the new colours."""
        self._strips.clear()
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
