"""Bars, graphs and columns of text."""

from collections.abc import Collection, Iterable, Sequence

from pegaflow.observe.thresholds import Level
from pegaflow.tui.glyphs import SIGNS, STYLES, Glyphs
from pegaflow.tui.line import Line, joined, styled
from pegaflow.units import format_duration, format_size


def bar(share: float, width: int, glyphs: Glyphs, style: str = "$primary") -> Line:
    """A part of 0 to 1 as a bar of ``width`` cells."""
    full = round(min(max(share, 0.0), 1.0) * width)
    return styled(glyphs.full * full, style) + styled(glyphs.empty * (width - full), "$text-muted")


def graph(
    values: Sequence[float],
    width: int,
    height: int,
    glyphs: Glyphs,
    marks: Collection[int] = (),
    *,
    top: float = 0.0,
) -> list[Line]:
    """The newest ``width`` values in ``height`` lines, up to ``top`` or the highest of them.

    ``marks`` are indexes of values that have a mark in their place.
    """
    first = max(len(values) - width, 0)
    shown = values[first:]
    full = max(top, max(shown, default=0.0))
    steps = len(glyphs.levels) - 1
    # The least that is not nothing is seen.
    heights = [0 if value <= 0 else max(round(value / full * steps * height), 1) for value in shown]
    indent = " " * (width - len(shown))
    lines = []
    for below in range(steps * (height - 1), -1, -steps):
        cells = [
            glyphs.mark if index in marks else glyphs.levels[min(max(filled - below, 0), steps)]
            for index, filled in enumerate(heights, start=first)
        ]
        lines.append(styled(indent + "".join(cells), "$accent"))
    return lines


def signed(level: Level, text: str) -> Line:
    """A text with the sign and the colour of its level."""
    sign = SIGNS[level]
    return styled(f"{sign} {text}" if sign else text, STYLES[level])


def fit(text: str, width: int, *, right: bool = False) -> str:
    """A text in exactly ``width`` cells.

    >>> fit("abc", 5), fit("abc", 5, right=True), fit("abcdef", 4)
    ('abc  ', '  abc', 'abc~')
    """
    if len(text) > width:
        text = text[: max(width - 1, 0)] + "~"[:width]
    return text.rjust(width) if right else text.ljust(width)


def muted(texts: Iterable[str], width: int, glyphs: Glyphs) -> Line:
    """The first text, and those of the others that fit beside it, as what is good to know."""
    parts = [styled(text, "$text-muted") for text in texts]
    return joined(parts, width, f" {glyphs.dot} ", "$text-muted")


def packed(parts: Iterable[str], width: int, between: str) -> list[str]:
    """All parts, in as few lines of ``width`` cells as they take.

    >>> packed(["aa", "bb", "cc"], 7, " - ")
    ['aa - bb', 'cc']
    """
    lines = list[str]()
    for part in parts:
        if lines and len(lines[-1]) + len(between) + len(part) <= width:
            lines[-1] += between + part
        else:
            lines.append(part)
    return lines


def stacked(shares: Sequence[tuple[float, str]], width: int, glyphs: Glyphs) -> Line:
    """Parts of 1, each with its colour, as one bar of ``width`` cells."""
    cells, done = list[tuple[str, str]](), 0.0
    for index, (share, style) in enumerate(shares):
        begin, done = round(done * width), done + share
        cells.append((glyphs.parts[index] * (round(done * width) - begin), style))
    return tuple(cells)


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "block"), counted(1200, "block")
    ('1 block', '1,200 blocks')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def tail(text: str, width: int) -> str:
    """The end of a text in exactly ``width`` cells, which tells paths apart.

    >>> tail("/mnt/nvme0", 12), tail("/mnt/nvme0/cache", 12)
    ('/mnt/nvme0  ', '~nvme0/cache')
    """
    return (text if len(text) <= width else "~" + text[1 - width :]).ljust(width)


def progress(share: float | None) -> str:
    """How far something is.

    >>> progress(0.34), progress(None)
    ('34%', 'runs')
    """
    return "runs" if share is None else f"{share:.0%}"


def rate(bytes_per_s: float) -> str:
    """Bytes per second for people."""
    return f"{format_size(int(bytes_per_s))}/s"


def duration(seconds: float | None) -> str:
    """A short time in three digits.

    >>> duration(0.00005), duration(0.0123), duration(4.25), duration(None)
    ('50 us', '12.3 ms', '4.25 s', '-')
    """
    if seconds is None:
        return "-"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    return "-"


def age(age_s: float | None) -> str:
    """An age in its largest unit.

    >>> age(4.25), age(250), age(5400), age(200_000), age(None)
    ('4.2 s', '4.2 m', '1.5 h', '2.3 d', '-')
    """
    if age_s is None:
        return "-"
    for unit, length_s in (("d", 86400), ("h", 3600), ("m", 60)):
        if age_s >= length_s:
            return f"{age_s / length_s:.1f} {unit}"
    return f"{age_s:.1f} s"


def seconds(age_s: float | None) -> str:
    """An age, which needs no more than tenths of seconds.

    >>> seconds(0.04), seconds(12.34), seconds(75), seconds(None)
    ('0.0 s', '12.3 s', '1 m 15 s', '-')
    """
    if age_s is None:
        return "-"
    return f"{age_s:.1f} s" if age_s < 60 else format_duration(age_s)
