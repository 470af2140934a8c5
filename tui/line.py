"""Lines of text: tuples of parts with a style each, which cost little to make and to compare."""

from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from textual.content import Content

Line = tuple[tuple[str, str], ...]
"""Texts, each with its style; an empty style is that of the widget."""


def styled(text: str, style: str = "") -> Line:
    """A line of one part, or of none.

    >>> styled("age", "bold") + styled(" 4 s"), styled("")
    ((('age', 'bold'), (' 4 s', '')), ())
    """
    return ((text, style),) if text else ()


def restyled(line: Line, style: str) -> Line:
    """A line with a style more.

    >>> restyled((("a", ""), ("b", "bold")), "reverse")
    (('a', 'reverse'), ('b', 'bold reverse'))
    """
    return tuple((text, f"{own} {style}".lstrip()) for text, own in line)


def cells(line: Line) -> int:
    """The cells that a line takes.

    >>> cells((("ab", ""), ("c", "bold")))
    3
    """
    text = "".join([part for part, _ in line])
    return len(text) if text.isascii() else cell_len(text)


def cut(line: Line, width: int) -> Line:
    """A line in at most ``width`` cells, with a sign where something is missing.

    >>> cut((("abc", ""), ("def", "bold")), 5), cut((("abc", ""),), 3)
    ((('abc', ''), ('d~', 'bold')), (('abc', ''),))
    """
    if cells(line) <= width:
        return line
    kept, left = list[tuple[str, str]](), width
    for text, style in line:
        if cell_len(text) >= left:
            return (*kept, (set_cell_size(text, max(left - 1, 0)) + "~"[:left], style))
        kept.append((text, style))
        left -= cell_len(text)
    return tuple(kept)


def joined(parts: Sequence[Line], width: int, between: str, style: str = "") -> Line:
    """The first part, and those of the others that fit in ``width`` cells beside it.

    >>> joined([styled("abc"), styled("defgh"), styled("i")], 6, ", ")
    (('abc', ''), (', ', ''), ('i', ''))
    """
    chosen = cut(parts[0], width)
    used = cells(chosen)
    for part in parts[1:]:
        more = styled(between, style) + part
        if used + cells(more) <= width:
            chosen += more
            used += cells(more)
    return chosen


@lru_cache(maxsize=256)
def folded(text: str, style: str, width: int) -> tuple[Line, ...]:
    """A text in as many lines as it takes.

    >>> folded("ab cd", "bold", 3)
    ((('ab', 'bold'),), (('cd', 'bold'),))
    """
    return tuple(styled(one.plain, style) for one in Content(text).wrap(width))


def content(line: Line) -> Content:
    """The line for those widgets of Textual that fold what is long."""
    return Content.assemble(*line)
