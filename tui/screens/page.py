"""A screen of text over the dashboard, for help and for details."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static


class Page(ModalScreen[None]):
    """Text with a title; any of Esc, q, Enter and ? closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "dismiss", "close")
    ]

    def __init__(self, title: str, content: Content) -> None:
        super().__init__()
        self._title = title
        self._content = content

    def compose(self) -> ComposeResult:
        """The text, in a box that scrolls."""
        with VerticalScroll(id="page") as box:
            box.border_title = self._title
            box.border_subtitle = "Esc closes"
            yield Static(self._content, markup=False)


def facts_page(title: str, facts: dict[str, str]) -> Page:
    """A page of names and values."""
    width = max(map(len, facts), default=0)
    lines = [
        Content.assemble((name.ljust(width + 2), "bold"), value) for name, value in facts.items()
    ]
    return Page(title, Content("\n").join(lines))
