"""Bars, graphs and columns of text."""

from collections.abc import Collection, Sequence

from textual.content import Content

from pegaflow.observe.thresholds import Level
from pegaflow.tui.glyphs import SIGNS, STYLES, Glyphs
from pegaflow.units import format_duration, format_size


def bar(share: float, width: int, glyphs: Glyphs, style: str = "$primary") -> Content:
    """A part of 0 to 1 as a bar of ``width`` cells."""
    full = round(min(max(share, 0.0), 1.0) * width)
    return Content.assemble(
        (glyphs.full * full, style), (glyphs.empty * (width - full), "$text-muted")
    )


def sparkline(
    values: Sequence[float], width: int, glyphs: Glyphs, marks: Collection[int] = ()
) -> Content:
    """The newest ``width`` values as a graph up to the highest; ``marks`` are indexes of marks."""
    first = max(len(values) - width, 0)
    shown = values[first:]
    top = max(shown, default=0.0)
    steps = len(glyphs.levels) - 1
    cells = [" " * (width - len(shown))]
    for index, value in enumerate(shown, start=first):
        # The least that is not nothing is seen.
        height = 0 if value <= 0 else max(round(value / top * steps), 1)
        cells.append(glyphs.mark if index in marks else glyphs.levels[height])
    return Content.styled("".join(cells), "$accent")


def signed(level: Level, text: str) -> Content:
    """A text with the sign and the colour of its level."""
    sign = SIGNS[level]
    return Content.styled(f"{sign} {text}" if sign else text, STYLES[level])


def fit(text: str, width: int, *, right: bool = False) -> str:
    """A text in exactly ``width`` cells.

    >>> fit("abc", 5), fit("abc", 5, right=True), fit("abcdef", 4)
    ('abc  ', '  abc', 'abc~')
    """
    if len(text) > width:
        text = text[: max(width - 1, 0)] + "~"[:width]
    return text.rjust(width) if right else text.ljust(width)


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
