"""The curves of a plan as lines of text."""

from typing import Final

from pegaflow.planning.curves import Scale
from pegaflow.planning.plan import Plan

_COLUMNS: Final = 64
_ROWS: Final = 16


def text_plot(plan: Plan) -> list[str]:
    """Hits by size: a letter for each policy, the later ones over the earlier."""
    scale = Scale.of(plan)
    cells = [[" "] * _COLUMNS for _ in range(_ROWS)]
    marks = _marks_of(list(plan.curves))
    for name, curve in plan.curves.items():
        for point in curve:
            column = round(scale.across(point.capacity_blocks) * (_COLUMNS - 1))
            row = round((1 - scale.up(point.hit_percent)) * (_ROWS - 1))
            cells[row][column] = marks[name]
    lines = []
    for number, row_cells in enumerate(cells):
        percent = scale.top * (1 - number / (_ROWS - 1))
        label = f"{percent:4.0f}%" if number % 5 == 0 else " " * 5
        lines.append(f"{label} |{''.join(row_cells)}".rstrip())
    least, most = f"{scale.sizes[0]:,}", f"{scale.sizes[-1]:,} blocks"
    lines.append(" " * 6 + "+" + "-" * _COLUMNS)
    lines.append(" " * 7 + least + most.rjust(_COLUMNS - len(least)))
    lines.append(" " * 7 + ", ".join(f"{mark} {name}" for name, mark in marks.items()))
    return lines


def _marks_of(names: list[str]) -> dict[str, str]:
    """A letter for each name: the first of its letters that no earlier name has."""
    marks: dict[str, str] = {}
    for name in names:
        marks[name] = next(letter for letter in [*name, "*"] if letter not in marks.values())
    return marks
