"""What happens to the engines: killed, stopped, continued and started again, by the seed."""

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.chaos.client import LONGEST_PAUSE_S
from tests.chaos.journal import Journal
from tests.chaos.place import EnginePlace

_APART_S: Final = (1.0, 8.0)
_STOPPED_S: Final = (0.05, 0.8 * LONGEST_PAUSE_S)
_KILLING: Final = 0.3
_IN_PARTS: Final = 0.5
_PARTS_APART_S: Final = (0.0, 1.0)
_KILLS_END: Final = 0.6
"""After this share of the run no engine is killed: what leaks with restarts of the daemon shows."""


class EngineFaults:
    """Does one thing after the other, to one of the engines at a time."""

    def __init__(
        self, places: Sequence[EnginePlace], seconds: float, seed: int, journal: Journal
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._places = places
        self._journal = journal
        self._seconds = seconds
        self._source = random.Random(f"faults of the engines of {seed}")

    def run(self, over: threading.Event) -> None:
        """Do things until the run is over; the first one is a kill. All engines serve then."""
        kills_until = time.monotonic() + _KILLS_END * self._seconds
        while not over.wait(self._source.uniform(*_APART_S)):
            place = self._source.choice(self._places)
            kills = self._source.random() < _KILLING or not self.counts
            if kills and time.monotonic() < kills_until:
                self._kill(place)
            else:
                self._stop_and_continue(place, over)

    def _kill(self, place: EnginePlace) -> None:
        """Half of the times one process dies a moment before the others."""
        self.counts["engine_kills"] += 1
        in_parts = self._source.random() < _IN_PARTS
        first = self._source.choice(sorted(place.pids))
        apart_s = self._source.uniform(*_PARTS_APART_S)
        how = f"kill of {first}, then of all" if in_parts else "kill of all"
        self._journal.write(f"engine {place.number}: {how}")
        place.kill(first if in_parts else None, apart_s)
        place.start()
        self._journal.write(f"engine {place.number}: serves")

    def _stop_and_continue(self, place: EnginePlace, over: threading.Event) -> None:
        self.counts["engine_stops"] += 1
        seconds = self._source.uniform(*_STOPPED_S)
        self._journal.write(f"engine {place.number}: stop for {seconds:.3f} s")
        with place.paused():
            over.wait(seconds)
