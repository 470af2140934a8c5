"""What happens to the daemon: killed, stopped, continued and started again, by the seed."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tests.chaos.journal import Journal
from tests.chaos.place import EnginePlace
from tests.chaos.recovery import Recoveries, attached_places, measure_attaching
from tests.engine.daemon import DaemonProcess

_APART_S: Final = (0.5, 4.0)
_AWAY_S: Final = (0.0, 3.0)
_STOPPED_S: Final = (0.05, 4.0)
_IN_A_ROW: Final = 3


class DaemonFaults:
    """Does one thing after the other to the daemon, which runs whenever none is being done."""

    def __init__(
        self, daemon: DaemonProcess, places: Sequence[EnginePlace], seed: int, journal: Journal
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.recoveries = Recoveries()
        self._daemon = daemon
        self._places = places
        self._journal = journal
        self._source = random.Random(f"faults of the daemon of {seed}")
        self._over = threading.Event()
        self._faults: Mapping[Callable[[], None], int] = {
            self._kill: 4,
            self._kill_in_a_row: 1,
            self._stop_and_continue: 3,
            self._stop_and_kill: 1,
            self._restart: 1,
        }

    def run(self, over: threading.Event) -> None:
        """Do things until the run is over; the daemon runs then."""
        self._over = over
        faults, weights = list(self._faults), list(self._faults.values())
        while not over.wait(self._source.uniform(*_APART_S)):
            (fault,) = self._source.choices(faults, weights)
            witnesses = attached_places(self._daemon, self._places)
            fault()
            seconds = measure_attaching(self._daemon, witnesses, self.recoveries)
            numbers = [witness.place.number for witness in witnesses]
            self._journal.write(f"of {numbers} all that live are attached after {seconds:.3f} s")

    def _kill(self) -> None:
        """Half of the times it is back at once, faster than any heartbeat."""
        is_away = self._source.random() < 0.5
        away_s = self._source.uniform(*_AWAY_S)
        self._end()
        if is_away:
            self._over.wait(away_s)
        self._start()

    def _kill_in_a_row(self) -> None:
        for _ in range(_IN_A_ROW):
            self._end()
            self._start()

    def _stop_and_continue(self) -> None:
        self._pause()
        self._daemon.resume()

    def _stop_and_kill(self) -> None:
        self._pause()
        self._end()
        self._start()

    def _restart(self) -> None:
        self.counts["daemon_restarts"] += 1
        code = self._daemon.stop()
        self._journal.write(f"daemon: ended with {code}")
        assert code == 0, f"a daemon that was asked to end ended with {code}"
        self._start()

    def _pause(self) -> None:
        self.counts["daemon_stops"] += 1
        seconds = self._source.uniform(*_STOPPED_S)
        self._journal.write(f"daemon: stop for {seconds:.3f} s")
        self._daemon.pause()
        self._over.wait(seconds)

    def _end(self) -> None:
        self.counts["daemon_kills"] += 1
        self._daemon.kill()
        self._journal.write("daemon: killed")

    def _start(self) -> None:
        seconds = self._daemon.launch()
        self.recoveries.first_answers.append(seconds)
        self._journal.write(f"daemon: answers after {seconds:.3f} s")
