"""The samples of one daemon so far, newest last, and what they say over time."""

from collections import deque
from collections.abc import Mapping
from typing import Final

from pegaflow.observe.reading import snapshot
from pegaflow.observe.sample import Sample
from pegaflow.observe.snapshot import Snapshot
from pegaflow.observe.thresholds import DEFAULTS, Threshold

KEPT: Final = 240
"""Snapshots that are kept for graphs."""


class History:
    """Makes a snapshot of each sample, over the time since the one before or since a reset."""

    def __init__(self, thresholds: Mapping[str, Threshold] = DEFAULTS) -> None:
        self.thresholds = thresholds
        self.snapshots = deque[Snapshot](maxlen=KEPT)
        """One for each sample, over the time since the one before."""
        self._last: Sample | None = None
        self._base: Sample | None = None

    @property
    def last(self) -> Sample | None:
        """The newest sample."""
        return self._last

    def add(self, sample: Sample) -> Snapshot:
        """The snapshot of a new sample since the one before; the first is since the start."""
        self.snapshots.append(snapshot(sample, self._last, self.thresholds))
        self._last = sample
        return self.snapshots[-1]

    def reset(self) -> None:
        """Count from the newest sample on."""
        self._base = self._last

    @property
    def since_reset(self) -> Snapshot | None:
        """The newest sample over the time since the reset; None before a reset."""
        if self._base is None or self._last is None:
            return None
        return snapshot(self._last, self._base, self.thresholds)
