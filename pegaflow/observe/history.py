"""The samples of one daemon so far, and what they say over time."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegaflow.observe.events import Event, events
from pegaflow.observe.reading import snapshot
from pegaflow.observe.sample import Sample
from pegaflow.observe.snapshot import Snapshot
from pegaflow.observe.thresholds import DEFAULTS, Threshold

KEPT: Final = 240
"""Points, and events, that are kept."""


@dataclass(frozen=True)
class Point:
    """What of a snapshot is kept for graphs."""

    rates: Mapping[str, float]
    """Bytes a second by the flow's name."""
    evictions_per_s: float
    """Blocks that left memory."""
    restarted: bool
    """Whether the daemon began anew in its window."""


class History:
    """Makes a snapshot of each sample, over the time since the one before or since a reset."""

    def __init__(self, thresholds: Mapping[str, Threshold] = DEFAULTS) -> None:
        self.thresholds = thresholds
        self.now: Snapshot | None = None
        """The newest, over the time since the one before; the first is since the start."""
        self.points = deque[Point](maxlen=KEPT)
        """One for each sample but the first, since the one before it, the newest last."""
        self.events = deque[Event](maxlen=KEPT)
        """The newest last."""
        self._last: Sample | None = None
        self._base: Sample | None = None

    def add(self, sample: Sample) -> Snapshot:
        """The snapshot of a new sample since the one before; the first is since the start."""
        before = self.now
        after = snapshot(sample, self._last, self.thresholds)
        self.events.extend(events(before, after, sample.events))
        if before is not None:
            evictions_per_s = after.evictions.memory_per_s
            self.points.append(Point(after.rates, evictions_per_s, after.window.restarted))
        self.now, self._last = after, sample
        return after

    def reset(self) -> None:
        """Count from the newest sample on."""
        self._base = self._last

    def end_reset(self) -> None:
        """Count since the sample before again."""
        self._base = None

    @property
    def is_reset(self) -> bool:
        """Whether counts are since a reset."""
        return self._base is not None

    @property
    def since_reset(self) -> Snapshot | None:
        """The newest sample over the time since the reset; None before a reset."""
        if self._base is None or self._last is None:
            return None
        return snapshot(self._last, self._base, self.thresholds)
