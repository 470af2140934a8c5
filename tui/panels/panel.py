"""What all panels share: a frame, a title with a sign, and lines that are drawn only anew."""

from functools import lru_cache
from typing import ClassVar

from textual.content import Content
from textual.geometry import Size
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
        self._drawn = Content("")
        self._height = 1
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
        return self._drawn

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as its lines, which are never folded."""
        return self._height

    def on_resize(self) -> None:
        """Draw for the new width."""
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
        drawn = Content("\n").join(lines)
        if not drawn.is_same(self._drawn):
            is_as_high = len(lines) == self._height
            self._drawn, self._height = drawn, len(lines)
            self.refresh(layout=not is_as_high)


def sentence(text: str, width: int) -> list[Content]:
    """A remark, in as many lines as it takes."""
    return list(_folded(text, width))


@lru_cache(maxsize=256)
def _folded(text: str, width: int) -> tuple[Content, ...]:
    return tuple(Content.styled(text, "$text-muted italic").wrap(width))


def alert_lines(view: View, panel: str) -> list[Content]:
    """The alerts of a panel, a line each."""
    return [signed(alert.level, alert.text) for alert in view.alerts(panel)]
