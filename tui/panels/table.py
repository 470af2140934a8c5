"""A panel with rows: sorted, filtered, and walked through with the arrows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from textual.content import Content
from textual.message import Message

from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import fit
from pegaflow.tui.glyphs import SIGNS, STYLES
from pegaflow.tui.panels.panel import Panel, sentence
from pegaflow.tui.view import View

R = TypeVar("R")

_ROWS = 6


@dataclass(frozen=True)
class Column(Generic[R]):
    """One column of a table."""

    title: str
    width: int
    text: Callable[[R], str]
    sort: Callable[[R], Any]
    right: bool = True
    least_panel: int = 0
    """It is left out of narrower panels."""


Fitted = Sequence[tuple[Column[R], int]]
"""Columns with the cells that each takes."""


class TablePanel(Panel, Generic[R]):
    """A panel of rows of ``R``."""

    WIDE = True
    columns: ClassVar[Sequence[Column[Any]]]
    rows_shown: ClassVar[int] = _ROWS

    class Opened(Message):
        """The user wants to see all of a row."""

        def __init__(self, title: str, facts: dict[str, str]) -> None:
            super().__init__()
            self.title = title
            self.facts = facts

    def __init__(self, digit: str) -> None:
        super().__init__(digit)
        self.cursor = 0
        self.sort_column: int | None = None
        self.reverse = False

    def rows(self, view: View) -> Sequence[R]:
        """All rows, in their own order."""
        raise NotImplementedError

    def level(self, view: View, row: R) -> Level:
        """How a row does."""
        return "ok"

    def facts(self, row: R) -> tuple[str, dict[str, str]]:
        """A title for one row, and all that is known of it."""
        raise NotImplementedError

    def remark(self, view: View) -> str:
        """A sentence below the rows; empty for none."""
        return ""

    def ordered(self, view: View) -> list[R]:
        """The rows that are shown, in order."""
        preferences = view.preferences
        rows = [
            row
            for row in self.rows(view)
            if preferences.filter.admits(" ".join(column.text(row) for column in self.columns))
            and (not preferences.faults_only or self.level(view, row) != "ok")
        ]
        if self.sort_column is not None:
            rows.sort(key=self.columns[self.sort_column].sort, reverse=not self.reverse)
        elif self.reverse:
            rows.reverse()
        return rows

    def selected(self) -> R | None:
        """The row under the cursor."""
        rows = self.ordered(self.view) if self.view else []
        return rows[min(self.cursor, len(rows) - 1)] if rows else None

    def lines(self, view: View, width: int) -> list[Content]:
        """A heading, the rows around the cursor, and a remark."""
        rows = self.ordered(view)
        self.cursor = min(self.cursor, max(len(rows) - 1, 0))
        columns = self._fitted(width)
        remark = self.remark(view)
        limit = self._limit(view, remark)
        first = min(max(self.cursor - limit + 1, 0), max(len(rows) - limit, 0))
        shown = rows[first : first + limit]
        lines = [self._heading(columns, view)]
        lines += [self._line(columns, view, row, first + index) for index, row in enumerate(shown)]
        hidden = len(rows) - len(shown)
        if not rows:
            lines.append(Content.styled(self._empty(view), "$text-muted italic"))
        if hidden:
            lines.append(Content.styled(f"{hidden} more of {len(rows)}", "$text-muted"))
        if remark and not view.preferences.compact:
            lines += sentence(remark, width)
        return lines

    def next_sort(self) -> None:
        """Sort by the next column, and after the last by none."""
        after = 0 if self.sort_column is None else self.sort_column + 1
        self.sort_column = after if after < len(self.columns) else None
        self._draw()

    def toggle_reverse(self) -> None:
        """Turn the order around."""
        self.reverse = not self.reverse
        self._draw()

    def key_down(self) -> None:
        """One row on."""
        self._move(1)

    def key_up(self) -> None:
        """One row back."""
        self._move(-1)

    def key_pagedown(self) -> None:
        """Ten rows on."""
        self._move(10)

    def key_pageup(self) -> None:
        """Ten rows back."""
        self._move(-10)

    def key_enter(self) -> None:
        """Show all of the row."""
        if (row := self.selected()) is not None:
            self.post_message(self.Opened(*self.facts(row)))

    def on_focus(self) -> None:
        """Show the cursor."""
        self._draw()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self._draw()

    def _move(self, by: int) -> None:
        self.cursor = max(self.cursor + by, 0)
        self._draw()

    def _limit(self, view: View, remark: str) -> int:
        if self.is_maximised:
            return max(self.content_size.height - 2 - bool(remark), 1)
        return 2 if view.preferences.compact else self.rows_shown

    def _empty(self, view: View) -> str:
        preferences = view.preferences
        if self.rows(view) and preferences.faults_only:
            return "none at fault"
        return "none that fits the filter" if self.rows(view) else "none"

    def _heading(self, columns: Fitted[R], view: View) -> Content:
        parts = []
        glyphs = view.preferences.glyphs
        for column, width in columns:
            title = column.title
            if self.sort_column is not None and column is self.columns[self.sort_column]:
                title += glyphs.up if self.reverse else glyphs.down
            parts.append(fit(title, width, right=column.right))
        return Content.styled("  " + " ".join(parts), "$text-muted bold")

    def _line(self, columns: Fitted[R], view: View, row: R, index: int) -> Content:
        level = self.level(view, row)
        cells = [fit(column.text(row), width, right=column.right) for column, width in columns]
        is_here = self.has_focus and index == self.cursor
        text = f"{fit(SIGNS[level], 2)}{' '.join(cells)}"
        return Content.styled(text, "reverse" if is_here else STYLES[level])

    def _fitted(self, width: int) -> Fitted[R]:
        """The columns that a panel of this width has; the last one of text takes what is left."""
        columns = [column for column in self.columns if width >= column.least_panel]
        last = next((one for one in reversed(columns) if not one.right), None)
        spare = width - 2 - sum(one.width for one in columns) - (len(columns) - 1)
        return [(one, one.width + max(spare, 0) if one is last else one.width) for one in columns]
