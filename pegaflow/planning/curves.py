"""The lines of a plan's plot, and where they lie in it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pegaflow.planning.plan import BELADY, Plan

WIDTH, HEIGHT = 900, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 130, 40, 50
_COLOURS: Final = (
    "#7f7f7f", "#1f77b4", "#17becf", "#2ca02c", "#ff7f0e", "#d62728", "#000000",
)  # fmt: skip
_GRID: Final = "#dddddd"

Place = tuple[float, float]


class Canvas(Protocol):
    """What a plot is drawn on; (0, 0) is the upper left corner."""

    def lines(self, places: Sequence[Place], colour: str, width: int, *, dashed: bool) -> None:
        """Connect these places."""

    def text(self, place: Place, text: str, anchor: str) -> None:
        """Write on a line; ``anchor`` is what is at ``place``: start, middle or end."""


@dataclass(frozen=True)
class Scale:
    """Sizes from left to right on a logarithmic scale, percent from below."""

    sizes: Sequence[int]
    top: float

    @classmethod
    def of(cls, plan: Plan) -> "Scale":
        """The scale that has all of the plan's points."""
        points = next(iter(plan.curves.values()))
        return cls([point.capacity_blocks for point in points], max(plan.ceiling_percent, 1.0))

    def across(self, size: int) -> float:
        """From 0 on the left to 1 on the right."""
        least, most = math.log(self.sizes[0]), math.log(self.sizes[-1])
        return (math.log(size) - least) / (most - least) if most > least else 0.5

    def up(self, percent: float) -> float:
        """From 0 at the bottom to 1 at the top."""
        return percent / self.top

    def ticks(self) -> list[int]:
        """About six of the sizes."""
        return list(self.sizes[:: max(len(self.sizes) // 6, 1)])


def draw(plan: Plan, title: str, canvas: Canvas) -> None:
    """Hits by size for each policy."""
    scale = Scale.of(plan)
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def x(size: int) -> float:
        return _LEFT + scale.across(size) * (right - _LEFT)

    def y(percent: float) -> float:
        return bottom - scale.up(percent) * (bottom - _TOP)

    canvas.text((_LEFT, _TOP - 16), title, "start")
    for percent in (scale.top * step / 5 for step in range(6)):
        canvas.lines([(_LEFT, y(percent)), (right, y(percent))], _GRID, 1, dashed=False)
        canvas.text((_LEFT - 8, y(percent) + 4), f"{percent:.0f}%", "end")
    for size in scale.ticks():
        canvas.lines([(x(size), _TOP), (x(size), bottom)], _GRID, 1, dashed=False)
        canvas.text((x(size), bottom + 18), f"{size:,}", "middle")
    canvas.text(((_LEFT + right) / 2, HEIGHT - 10), "blocks of the cache", "middle")
    for (name, curve), colour, row in zip(plan.curves.items(), _COLOURS, _rows(), strict=False):
        places = [(x(point.capacity_blocks), y(point.hit_percent)) for point in curve]
        canvas.lines(places, colour, 2, dashed=name == BELADY)
        canvas.lines([(right + 14, row), (right + 40, row)], colour, 2, dashed=name == BELADY)
        canvas.text((right + 46, row + 4), name, "start")


def _rows() -> Iterator[float]:
    """Where the names are, from above."""
    return (_TOP + 12 + 20.0 * number for number in range(len(_COLOURS)))
