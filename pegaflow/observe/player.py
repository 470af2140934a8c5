"""Plays a recording: a time that goes on at any speed, and can be set."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from pegaflow.observe.history import KEPT
from pegaflow.observe.recording import Recording
from pegaflow.observe.sample import Sample

SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0)
"""Seconds of the recording in one second."""


class Player:
    """Where a recording is, and how fast it goes."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        # Clocks of hosts may differ a little: what comes later is shown later.
        self._times = list(accumulate(recording.times, max))
        self._next = 0
        self.at = self.first
        """The time of the recording, in seconds since 1970."""
        self.speed = 1.0
        self.playing = True

    @property
    def hosts(self) -> list[str]:
        """The daemons of the recording, in the order in which they come."""
        return list(dict.fromkeys(self._recording.hosts))

    @property
    def first(self) -> float:
        """When it begins."""
        return self._times[0]

    @property
    def last(self) -> float:
        """When it ends."""
        return self._times[-1]

    def forward(self, seconds: float) -> Iterator[Sample]:
        """Let ``seconds`` go by, at the speed; the samples that come meanwhile."""
        if self.playing:
            self.at = min(self.at + seconds * self.speed, self.last)
        end = bisect_right(self._times, self.at)
        while self._next < end:
            yield self._recording.sample(self._next)
            self._next += 1

    def seek(self, at: float) -> Iterator[Sample]:
        """Go to a time; the samples up to there, as many as a view keeps."""
        self.at = min(max(at, self.first), self.last)
        end = bisect_right(self._times, self.at)
        # One more than is kept gives the oldest of them its window.
        self._next = max(end - (KEPT + 1) * len(self.hosts), 0)
        yield from self.forward(0.0)

    def faster(self, step: int) -> None:
        """The next speed, or with -1 the one before."""
        index = SPEEDS.index(self.speed) + step
        self.speed = SPEEDS[min(max(index, 0), len(SPEEDS) - 1)]
