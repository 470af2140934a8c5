"""Reads daemons again and again, each in a thread of its own."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from pegaflow.errors import PegaflowError
from pegaflow.observe.sample import Sample
from pegaflow.observe.source import Source

INTERVALS_S: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""What users step through."""


class Poller:
    """One thread for one daemon: one that hangs delays no other."""

    def __init__(
        self,
        source: Source,
        interval_s: float,
        receive: Callable[[Sample | PegaflowError], None],
    ) -> None:
        self.interval_s = interval_s
        self._source = source
        self._receive = receive
        self._wake = threading.Event()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def start(self) -> None:
        """Read at once, then every ``interval_s`` seconds."""
        self._thread.start()

    def wake(self) -> None:
        """Read now."""
        self._wake.set()

    def stop(self) -> None:
        """Read no more; a reading under way goes on in the background until its timeout."""
        self._end.set()
        self._wake.set()

    def _poll(self) -> None:
        while not self._end.is_set():
            began = time.monotonic()
            self._receive(self._read())
            self._wake.wait(max(self.interval_s - (time.monotonic() - began), 0.0))
            self._wake.clear()
        self._source.close()

    def _read(self) -> Sample | PegaflowError:
        try:
            return self._source.read()
        except PegaflowError as error:
            return error


class Pollers:
    """One for each daemon, all with the same interval."""

    def __init__(self, pollers: Sequence[Poller], interval_s: float) -> None:
        self.interval_s = interval_s
        self._pollers = pollers

    def start(self) -> None:
        """Begin to read."""
        for poller in self._pollers:
            poller.start()

    def stop(self) -> None:
        """Read no more."""
        for poller in self._pollers:
            poller.stop()

    def wake(self) -> None:
        """Read now."""
        for poller in self._pollers:
            poller.wake()

    def slower(self) -> None:
        """Read less often, from now on."""
        self._read_every(next((one for one in INTERVALS_S if one > self.interval_s), None))

    def faster(self) -> None:
        """Read more often, from now on."""
        shorter = (one for one in reversed(INTERVALS_S) if one < self.interval_s)
        self._read_every(next(shorter, None))

    def _read_every(self, interval_s: float | None) -> None:
        if interval_s is not None:
            self.interval_s = interval_s
            for poller in self._pollers:
                poller.interval_s = interval_s
                poller.wake()
