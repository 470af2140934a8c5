"""What happens to an engine: killed, stopped, continued and started again, by the seed."""

import random
import threading
from collections import Counter
from typing import Final

from tests.chaos.client import LONGEST_PAUSE_S
from tests.chaos.journal import Journal
from tests.chaos.place import EnginePlace

_APART_S: Final = (1.0, 10.0)
_STOPPED_S: Final = (0.05, 0.8 * LONGEST_PAUSE_S)
_KILLING: Final = 0.3
_IN_PARTS: Final = 0.5
_PARTS_APART_S: Final = (0.0, 1.0)


class Killing:
    """The right to kill an engine: for one at a time, and until ``end`` is set."""

    def __init__(self, seed: int, places: int) -> None:
        self.end = threading.Event()
        self.first = random.Random(f"first kill of {seed}").randint(1, places)
        """The number of the engine that is killed before anything else."""
        self._one = threading.Lock()

    def begin(self) -> bool:
        """Whether the caller may kill its engine now; it says when the next one serves."""
        return not self.end.is_set() and self._one.acquire(blocking=False)

    def over(self) -> None:
        """Another engine may be killed."""
        self._one.release()


class EngineFaults:
    """Does one thing after the other to the engine at ``place``."""

    def __init__(self, place: EnginePlace, killing: Killing, seed: int, journal: Journal) -> None:
        self.counts: Counter[str] = Counter()
        self._place = place
        self._killing = killing
        self._journal = journal
        self._source = random.Random(f"faults of engine {place.number} of {seed}")

    def run(self, over: threading.Event) -> None:
        """Do things until the run is over; the engine serves then."""
        kills = self._place.number == self._killing.first
        while not over.wait(self._source.uniform(*_APART_S)):
            if kills and self._killing.begin():
                self._kill()
                self._killing.over()
            else:
                self._stop_and_continue(over)
            kills = self._source.random() < _KILLING

    def _kill(self) -> None:
        """Half of the times one process dies a moment before the others."""
        self.counts["engine_kills"] += 1
        in_parts = self._source.random() < _IN_PARTS
        first = self._source.choice(sorted(self._place.pids))
        apart_s = self._source.uniform(*_PARTS_APART_S)
        how = f"kill of {first}, then of all" if in_parts else "kill of all"
        self._journal.write(f"engine {self._place.number}: {how}")
        self._place.kill(first if in_parts else None, apart_s)
        self._place.start()
        self._journal.write(f"engine {self._place.number}: serves")

    def _stop_and_continue(self, over: threading.Event) -> None:
        self.counts["engine_stops"] += 1
        seconds = self._source.uniform(*_STOPPED_S)
        self._journal.write(f"engine {self._place.number}: stop for {seconds:.3f} s")
        with self._place.paused():
            over.wait(seconds)
