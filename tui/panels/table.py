"""A panel with rows: sorted, filtered, and walked through with the arrows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

from textual.message import Message

from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import fit
from pegaflow.tui.glyphs import SIGNS, STYLES
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import COMPACT_LINES, Panel, sentence
from pegaflow.tui.view import View

R = TypeVar("R")

_ROWS: Final = 6
_SIGN: Final = 3
"""Cells of the sign before a row."""
_LEAST: Final = 6
"""Cells of a column that gives way to others."""


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
    grows: bool = False
    """Whether it is as wide as its texts where there is room."""


Fitted = Sequence[tuple[Column[R], int]]
"""Columns with the cells that each takes."""


class TablePanel(Panel, Generic[R]):
    """A panel of rows of ``R``."""

    COMPACT = None
    WIDE = True
    columns: ClassVar[Sequence[Column[Any]]]
    rows_shown: ClassVar[int] = _ROWS
    NOTHING: ClassVar[str] = "none"
    """What is said where there is no row at all."""

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
        self._count = 0
        """Rows that there are to show."""
        self._remark: list[Line] = []

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
        rows = list(self.rows(view))
        if preferences.filter.text:
            rows = [row for row in rows if preferences.filter.admits(self._text(row))]
        if preferences.faults_only:
            rows = [row for row in rows if self.level(view, row) != "ok"]
        if self.sort_column is not None:
            rows.sort(key=self.columns[self.sort_column].sort, reverse=not self.reverse)
        elif self.reverse:
            rows.reverse()
        return rows

    def is_quiet(self, view: View) -> bool:
        """Whether no row is at fault."""
        return super().is_quiet(view) and all(
            self.level(view, row) == "ok" for row in self.rows(view)
        )

    def _text(self, row: R) -> str:
        """All that a filter looks at."""
        return " ".join(column.text(row) for column in self.columns)

    def selected(self) -> R | None:
        """The row under the cursor."""
        rows = self.ordered(self.view) if self.view else []
        return rows[min(self.cursor, len(rows) - 1)] if rows else None

    def lines(self, view: View, width: int) -> list[Line]:
        """A heading, the rows around the cursor, and a remark."""
        rows = self.ordered(view)
        remark = "" if self.is_compact else self.remark(view)
        self._count, self._remark = len(rows), sentence(remark, width) if remark else []
        self.cursor = min(self.cursor, max(len(rows) - 1, 0))
        columns = self._fitted(width, rows)
        limit = max(self.room - 1 - len(self._remark), 1)
        first = min(max(self.cursor - limit + 1, 0), max(len(rows) - limit, 0))
        shown = rows[first : first + limit]
        lines = [self._heading(columns, view)]
        lines += [self._line(columns, view, row, first + index) for index, row in enumerate(shown)]
        if not rows:
            lines.append(styled(self._empty(view), "$text-muted italic"))
        hidden = len(rows) - len(shown)
        self.note(f"{first + 1} to {first + len(shown)} of {len(rows)}" if hidden else "")
        return lines + self._remark

    def range_of_lines(self, lines: Sequence[Line]) -> tuple[int, int]:
        """A heading, a remark, and some rows or all."""
        least = COMPACT_LINES - 1 if self.is_compact else self.rows_shown
        others = 1 + len(self._remark)
        count = max(self._count, 1)
        return others + min(count, least), others + count

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

    def _move(self, by: int) -> None:
        self.cursor = max(self.cursor + by, 0)
        self._draw()

    def _empty(self, view: View) -> str:
        preferences = view.preferences
        if self.rows(view) and preferences.faults_only:
            return "none at fault"
        return "none that fits the filter" if self.rows(view) else self.NOTHING

    def _heading(self, columns: Fitted[R], view: View) -> Line:
        parts = []
        glyphs = view.preferences.glyphs
        for column, width in columns:
            title = column.title
            if self.sort_column is not None and column is self.columns[self.sort_column]:
                title += glyphs.up if self.reverse else glyphs.down
            parts.append(fit(title, width, right=column.right))
        return styled(" " * _SIGN + " ".join(parts), "$text-muted bold")

    def _line(self, columns: Fitted[R], view: View, row: R, index: int) -> Line:
        level = self.level(view, row)
        cells = [fit(column.text(row), width, right=column.right) for column, width in columns]
        is_here = self.has_focus and index == self.cursor
        text = f"{fit(SIGNS[level], _SIGN)}{' '.join(cells)}"
        return styled(text, "reverse" if is_here else STYLES[level])

    def _fitted(self, width: int, rows: Sequence[R]) -> Fitted[R]:
        """The columns that a panel of this width has; the last one of text takes what is left."""
        columns = [column for column in self.columns if width >= column.least_panel]
        widths = [column.width for column in columns]
        spare = width - _SIGN - sum(widths) - (len(columns) - 1)
        for index, column in enumerate(columns):
            if column.grows and spare > 0:
                longest = max((len(column.text(row)) for row in rows), default=0)
                more = min(max(longest - column.width, 0), spare // 2)
                widths[index] += more
                spare -= more
        texts = [index for index, column in enumerate(columns) if not column.right]
        if texts:
            widths[texts[-1]] = max(widths[texts[-1]] + spare, _LEAST)
        return list(zip(columns, widths, strict=True))
