"""The curves of a plan as a picture in SVG."""

import math
from collections.abc import Sequence
from html import escape

from pegaflow.planning.plan import BELADY, Plan

_WIDTH, _HEIGHT = 900, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 130, 40, 50
_COLOURS = ("#7f7f7f", "#1f77b4", "#17becf", "#2ca02c", "#ff7f0e", "#d62728", "#000000")


def svg(plan: Plan, title: str) -> str:
    """Hits by size for each policy; sizes are on a logarithmic scale."""
    points = next(iter(plan.curves.values()))
    sizes = [point.capacity_blocks for point in points]
    least, most = math.log(sizes[0]), math.log(sizes[-1])
    top = max(plan.ceiling_percent, 1.0)

    def x(size: int) -> float:
        part = (math.log(size) - least) / (most - least) if most > least else 0.5
        return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)

    def y(percent: float) -> float:
        return _HEIGHT - _BOTTOM - percent / top * (_HEIGHT - _TOP - _BOTTOM)

    parts = [_text(_LEFT, _TOP - 16, title, "start")]
    for step in range(6):
        percent = top * step / 5
        parts.append(_line(_LEFT, y(percent), _WIDTH - _RIGHT, y(percent), "#dddddd"))
        parts.append(_text(_LEFT - 8, y(percent) + 4, f"{percent:.0f}%", "end"))
    for size in _ticks(sizes):
        parts.append(_line(x(size), _TOP, x(size), _HEIGHT - _BOTTOM, "#dddddd"))
        parts.append(_text(x(size), _HEIGHT - _BOTTOM + 18, f"{size:,}", "middle"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, _HEIGHT - 10, "blocks of the cache", "middle"))
    for number, (name, curve) in enumerate(plan.curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        place = " ".join(f"{x(p.capacity_blocks):.1f},{y(p.hit_percent):.1f}" for p in curve)
        dash = ' stroke-dasharray="5 4"' if name == BELADY else ""
        parts.append(
            f'<polyline points="{place}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        row = _TOP + 12 + 20 * number
        parts.append(_line(_WIDTH - _RIGHT + 14, row, _WIDTH - _RIGHT + 40, row, colour))
        parts.append(_text(_WIDTH - _RIGHT + 46, row + 4, name, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" '
        f'fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _ticks(sizes: Sequence[int]) -> list[int]:
    """About six of the sizes."""
    return list(sizes[:: max(len(sizes) // 6, 1)])


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
