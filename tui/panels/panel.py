"""What all panels share: a frame, a title with a sign, and lines that are drawn only anew."""

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import ClassVar, Final

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import signed
from pegaflow.tui.glyphs import SIGNS, STYLES, UNICODE
from pegaflow.tui.line import Line, cells, content, cut, folded
from pegaflow.tui.look import Look
from pegaflow.tui.view import View

COMPACT_LINES: Final = 4
"""What of a panel a compact view has."""

FRAME: Final = 2
"""Lines of a panel's frame."""

_SIDES: Final = 4
"""Cells of its frame, and between that and its text."""

_FRAMES: Final[dict[Level, str]] = {
    "ok": "$panel-lighten-2",
    "warning": "$warning",
    "critical": "$error",
}


class Panel(Widget, can_focus=True):
    """One panel; a subclass draws its lines."""

    NAME: ClassVar[str]
    """What alerts, keys and the palette call it."""
    TITLE: ClassVar[str]
    HELP: ClassVar[str]
    """What it shows, for the help screen."""
    COMPACT: ClassVar[int | None] = COMPACT_LINES
    """What of it a compact view has; None: it cuts itself."""
    IS_OF_FLEET: ClassVar[bool] = False
    """Whether it is about all daemons, not one."""
    WIDE: ClassVar[bool] = False
    """Whether it takes two columns."""

    def __init__(self, digit: str) -> None:
        super().__init__(id=self.NAME)
        self.digit = digit
        self.view: View | None = None
        self.least_lines = self.most_lines = 1
        """How many lines it needs, and how many it can use."""
        self.room = 0
        """Lines within its frame."""
        self.is_maximised = False
        """Whether it has the screen for itself."""
        self._level: Level = "ok"
        self._note = ""
        """What its lower edge says."""
        self._lines: list[Line] = []
        self._strips: dict[int, Strip] = {}
        """What is on the terminal, so that lines that stay as they are cost nothing."""
        self._look: Look | None = None

    def lines(self, view: View, width: int) -> list[Line]:
        """What it shows in ``width`` columns, the most important first."""
        raise NotImplementedError

    def range_of_lines(self, lines: Sequence[Line]) -> tuple[int, int]:
        """How many lines it needs, and how many it can use, once it has drawn ``lines``."""
        return len(lines), len(lines)

    def is_quiet(self, view: View) -> bool:
        """Whether nothing in it is at fault."""
        return view.level(self.NAME) == "ok"

    def show(self, view: View, *, is_seen: bool) -> None:
        """Draw the view, if it looks different from what is there, and somebody can see it."""
        self.view = view
        level = view.level(self.NAME)
        if level != self._level:
            self._level = level
            self._draw_anew()
        elif is_seen:
            self._draw()

    def note(self, text: str) -> None:
        """Let its lower edge say something."""
        if text != self._note:
            self._note = text
            self._repaint(self.size.height - 1)

    def render(self) -> Content:
        """The lines that were drawn last."""
        return Content("\n").join(map(content, self._lines))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Its lines on the terminal, the frame too; those that are as they were are kept."""
        size, kept = self.size, self._strips
        for y in crop.line_range:
            if y not in kept:
                kept[y] = self._strip(y, size)
        strips = [kept[y] for y in crop.line_range]
        if crop.column_span == (0, size.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def _strip(self, y: int, size: Size) -> Strip:
        """One line, without what Textual does for lines that have to be folded."""
        look = self._look = self._look or Look(self)
        glyphs = self.view.preferences.glyphs if self.view else UNICODE
        frame = "$accent" if self.has_focus else _FRAMES[self._level]
        if y == 0:
            sign = f" {SIGNS[self._level]}" if SIGNS[self._level] else ""
            title = f" {self.digit} {self.TITLE}{sign} ".replace("  ", " ")[
                : max(size.width - 4, 0)
            ]
            rest = glyphs.across * (size.width - 3 - len(title)) + glyphs.corners[1]
            head = glyphs.corners[0] + glyphs.across
            parts: Line = ((head, frame), (title, STYLES[self._level]), (rest, frame))
        elif y == size.height - 1:
            note = f" {self._note} "[: max(size.width - 4, 0)] if self._note else ""
            rest = glyphs.corners[2] + glyphs.across * (size.width - 3 - len(note))
            tail = glyphs.across + glyphs.corners[3]
            parts = ((rest, frame), (note, "$text-muted"), (tail, frame))
        else:
            line = self._lines[y - 1] if y <= len(self._lines) else ()
            pad = " " * (size.width - 3 - cells(line)) + glyphs.side
            parts = ((f"{glyphs.side} ", frame), *line, (pad, frame))
        return look.strip(parts, size.width)

    def notify_style_update(self) -> None:
        """Draw in the new colours."""
        self._strips.clear()
        self._look = None
        super().notify_style_update()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.is_maximised = self.screen.maximized is self
        self._draw_anew()

    def on_focus(self) -> None:
        """Show that keys are for it."""
        self._draw_anew()

    def on_blur(self) -> None:
        """Show that keys are not for it."""
        self._draw_anew()

    def key_enter(self) -> None:
        """Give it the whole screen; Esc takes that back."""
        if not self.is_maximised:
            self.screen.maximize(self)

    @property
    def is_compact(self) -> bool:
        """Whether it shows only what is most important."""
        return self.view is not None and self.view.preferences.compact and not self.is_maximised

    def _draw_anew(self) -> None:
        self._strips.clear()
        self._draw()
        self.refresh()

    def _draw(self) -> None:
        size = self.size
        width, self.room = size.width - _SIDES, max(size.height - FRAME, 0)
        if self.view is None or width <= 0:
            return
        lines = [cut(line, width) for line in self.lines(self.view, width)]
        if self.is_compact:
            lines = lines[: self.COMPACT]
        before, self._lines = self._lines, lines
        needed = self.range_of_lines(lines)
        if needed != (self.least_lines, self.most_lines):
            self.least_lines, self.most_lines = needed
            self._strips.clear()
            self.refresh(layout=True)
            return
        pairs = zip_longest(lines, before)
        self._repaint(*(y for y, (new, old) in enumerate(pairs, start=1) if new != old))

    def _repaint(self, *ys: int) -> None:
        """Draw some lines anew, together with those of other panels where that can be."""
        for y in ys:
            self._strips.pop(y, None)
        if not ys:
            return
        width = self.size.width
        regions = [Region(0, y, width, 1) for y in ys]
        grid = self.parent
        if self.is_maximised or not isinstance(grid, Widget):
            self.refresh(*regions)
        else:
            offset = self.region.offset - grid.region.offset
            grid.refresh(*(region.translate(offset) for region in regions))


def sentence(text: str, width: int) -> list[Line]:
    """A remark, in as many lines as it takes."""
    return list(folded(text, "$text-muted italic", width))


def alert_lines(view: View, panel: str, *, but: Collection[str] = ()) -> list[Line]:
    """The alerts of a panel, a line each, ``but`` those of subjects that it has shown."""
    alerts = [alert for alert in view.alerts(panel) if alert.subject not in but]
    return [signed(alert.level, alert.text) for alert in alerts]
