"""Histograms of durations, and the quantiles that their buckets allow."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isinf


@dataclass(frozen=True)
class Histogram:
    """Counts by bucket: ``counts[i]`` are those above ``bounds[i - 1]`` and up to ``bounds[i]``."""

    bounds: tuple[float, ...] = ()
    """Upper bounds in seconds, ascending; the last is infinity."""
    counts: tuple[int, ...] = ()

    @classmethod
    def of_cumulative(cls, buckets: Iterable[tuple[float, float]]) -> "Histogram":
        """The histogram of (upper bound, count up to it) pairs, as Prometheus has them."""
        ordered = sorted(buckets)
        below, counts = 0, []
        for _, count in ordered:
            counts.append(max(int(count) - below, 0))
            below = int(count)
        return cls(tuple(bound for bound, _ in ordered), tuple(counts))

    @property
    def count(self) -> int:
        """All that were counted."""
        return sum(self.counts)

    def plus(self, other: "Histogram") -> "Histogram":
        """Both together; buckets that only one has are kept."""
        if self.bounds == other.bounds:
            counts = tuple(one + two for one, two in zip(self.counts, other.counts, strict=True))
            return Histogram(self.bounds, counts)
        merged: dict[float, int] = {}
        for histogram in (self, other):
            for bound, count in zip(histogram.bounds, histogram.counts, strict=True):
                merged[bound] = merged.get(bound, 0) + count
        return Histogram(tuple(sorted(merged)), tuple(merged[bound] for bound in sorted(merged)))

    def minus(self, earlier: "Histogram") -> "Histogram":
        """What was counted since ``earlier``, never less than nothing."""
        before = dict(zip(earlier.bounds, earlier.counts, strict=True))
        pairs = zip(self.bounds, self.counts, strict=True)
        counts = tuple(max(count - before.get(bound, 0), 0) for bound, count in pairs)
        return Histogram(self.bounds, counts)

    def quantile_s(self, share: float) -> float | None:
        """The seconds that ``share`` of all took at most, within a bucket's width; None of none.

        What is above the last finite bound counts as that bound.
        """
        total = self.count
        if total == 0:
            return None
        wanted, below, lower = share * total, 0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=True):
            upper = lower if isinf(bound) else bound
            if count and below + count >= wanted:
                return lower + (upper - lower) * max(wanted - below, 0.0) / count
            below, lower = below + count, upper
        return lower


EMPTY = Histogram((inf,), (0,))
"""Nothing counted."""
