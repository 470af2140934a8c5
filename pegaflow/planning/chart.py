"""The curves of a plan as a picture: SVG, or PNG with Pillow."""

import io
import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from pegaflow.errors import ConfigError
from pegaflow.planning.curves import HEIGHT, WIDTH, Place, draw
from pegaflow.planning.plan import Plan

_SUFFIXES: Final = (".svg", ".png")
_DASH, _GAP = 5, 4
_SCALE = 2
"""Pixels of a PNG for each unit."""
_FONT = 12


def check_name(path: Path) -> None:
    """Raises ``ConfigError`` for a file whose name is not that of a picture."""
    if path.suffix not in _SUFFIXES:
        allowed = " or ".join(_SUFFIXES)
        raise ConfigError(
            f"--plot {str(path)!r} is no picture; allowed: names that end in {allowed}"
        )


def picture(plan: Plan, title: str, path: Path) -> bytes:
    """The picture in the format that the name of its file says."""
    check_name(path)
    if path.suffix == ".svg":
        svg = _Svg()
        draw(plan, title, svg)
        return svg.document().encode()
    try:
        png = _Png()
    except ImportError as error:
        raise ConfigError(
            "--plot needs Pillow for .png: install pegaflow-kv[plot], or draw .svg"
        ) from error
    draw(plan, title, png)
    return png.document()


class _Svg:
    def __init__(self) -> None:
        self._parts: list[str] = []

    def lines(self, places: Sequence[Place], colour: str, width: int, *, dashed: bool) -> None:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dash = f' stroke-dasharray="{_DASH} {_GAP}"' if dashed else ""
        self._parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}"{dash}/>'
        )

    def text(self, place: Place, text: str, anchor: str) -> None:
        x, y = place
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def document(self) -> str:
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="sans-serif" font-size="{_FONT}">\n<rect width="100%" height="100%" '
            f'fill="#ffffff"/>\n{body}\n</svg>\n'
        )


class _Png:
    def __init__(self) -> None:
        from PIL import Image, ImageDraw, ImageFont

        self._image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), "#ffffff")
        self._draw = ImageDraw.Draw(self._image)
        self._font = ImageFont.load_default(_FONT * _SCALE)

    def lines(self, places: Sequence[Place], colour: str, width: int, *, dashed: bool) -> None:
        for start, end in pairwise(places):
            for part in _dashes(start, end) if dashed else [(start, end)]:
                ends = [(x * _SCALE, y * _SCALE) for x, y in part]
                self._draw.line(ends, fill=colour, width=width * _SCALE)

    def text(self, place: Place, text: str, anchor: str) -> None:
        x, y = place
        side = {"start": "l", "middle": "m", "end": "r"}[anchor]
        self._draw.text(
            (x * _SCALE, y * _SCALE), text, fill="#000000", font=self._font, anchor=f"{side}s"
        )

    def document(self) -> bytes:
        file = io.BytesIO()
        self._image.save(file, "PNG", optimize=True)
        return file.getvalue()


def _dashes(start: Place, end: Place) -> list[tuple[Place, Place]]:
    """Parts of a line that are drawn."""
    length = math.dist(start, end)
    count = math.ceil(length / (_DASH + _GAP))

    def at(along: float) -> Place:
        part = min(along / length, 1.0)
        return tuple(a + part * (b - a) for a, b in zip(start, end, strict=True))  # type: ignore[return-value]

    begins = [number * (_DASH + _GAP) for number in range(count)]
    return [(at(begin), at(begin + _DASH)) for begin in begins]
