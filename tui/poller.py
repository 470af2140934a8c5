"""Reads a daemon again and again, in a thread of its own."""

import threading
import time
from collections.abc import Callable

from pegaflow.errors import PegaflowError
from pegaflow.observe.sample import Sample
from pegaflow.observe.source import Source


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
