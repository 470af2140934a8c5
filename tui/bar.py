"""The widgets above and below the panels."""

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from pegaflow.tui.line import Line, cells, content, cut, styled
from pegaflow.tui.look import Look


class Bar(Widget):
    """A line that is drawn only when it changes."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._line: Line = ()
        self._look: Look | None = None
        self._strip: Strip | None = None

    def show(self, line: Line) -> None:
        """Show another line."""
        if line != self._line:
            self._line, self._strip = line, None
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The line on the terminal, which is kept until it changes."""
        strip = self._strip
        if strip is None or strip.cell_length != self.size.width:
            look = self._look = self._look or Look(self)
            line = cut(self._line, max(self.size.width - 2, 0))
            pad = " " * max(self.size.width - 1 - cells(line), 0)
            whole = styled(" ", "$text") + line + styled(pad, "$text")
            strip = self._strip = look.strip(whole, self.size.width)
        return [strip.crop(*crop.column_span)] * crop.height

    def notify_style_update(self) -> None:
        """Draw in the new colours."""
        self._look = self._strip = None
        super().notify_style_update()


class Banner(Static):
    """A text that is folded where it is long, and is not there where it says nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, markup=False)
        self._line: Line = ()

    def show(self, line: Line) -> None:
        """Show another text, or nothing."""
        self.display = bool(line)
        if line != self._line:
            new, old = content(line), content(self._line)
            self._line = line
            self.update(new, layout=self._height(new) != self._height(old))

    def _height(self, text: Content) -> int:
        return len(text.wrap(max(self.content_size.width, 1)))
