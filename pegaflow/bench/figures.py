"""Figures out of many measured values."""

import statistics
from collections.abc import Callable, Sequence
from typing import Final

Say = Callable[[str], None]
"""Takes a sentence about what is measured next."""

GB: Final = 1e9


def median(values: Sequence[float], digits: int = 1) -> float:
    """The middle value, rounded."""
    return round(statistics.median(values), digits)


def percentile(values: Sequence[float], percent: float, digits: int = 1) -> float:
    """The value that ``percent`` of all do not exceed, rounded."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))], digits)


def rate(size: int, seconds: float, digits: int = 2) -> float:
    """GB/s of ``size`` bytes in so many seconds, rounded."""
    return round(size / GB / seconds, digits)
