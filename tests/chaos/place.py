"""A place where an engine runs, is killed, stopped, and started again."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tests.engine.engine import EngineProcess

_POLL_S: Final = 0.2


class EnginePlace:
    """The engine that runs here now; ``start_engine`` starts the next one.

    One thread does things to it; others ask it questions and look at what was done.
    """

    def __init__(self, number: int, start_engine: Callable[[str], EngineProcess]) -> None:
        self.number = number
        self.kills = 0
        """Goes up when the engine serves no more and before any of its processes is killed."""
        self.requests = 0
        """How many the engine that serves here had, about."""
        self.pids: frozenset[int] = frozenset()
        """Of the engine that serves here."""
        self.counters: Counter[str] = Counter()
        """Of all engines that were here, as far as they were collected."""
        self._start_engine = start_engine
        self._engine: EngineProcess | None = None
        self._serving = threading.Event()
        self._pauses: tuple[float, float | None] = (0.0, None)
        """Seconds of those that are over, and when the one that is not began."""

    @property
    def engine(self) -> EngineProcess:
        """The engine here, dead or alive."""
        assert self._engine is not None, "no engine was started"
        return self._engine

    def is_serving(self) -> bool:
        """Whether it answers, or would if it were not stopped."""
        return self._serving.is_set()

    def wait_serving(self, over: threading.Event) -> bool:
        """Wait until it serves; False when the run is over before."""
        while not self._serving.wait(_POLL_S):
            if over.is_set():
                return False
        return True

    def start(self) -> None:
        """Start an engine and wait until it answers."""
        self._engine = self._start_engine(f"engine-{self.number}.{self.kills + 1}")
        self._engine.wait_ready()
        self.pids = frozenset(self._engine.processes())
        self.requests = 0
        self._serving.set()

    def kill(self, first: int | None = None, apart_s: float = 0.0) -> None:
        """SIGKILL the engine; its process ``first``, if given, so much earlier than the others."""
        self.collect()
        self._serving.clear()
        self.kills += 1
        if first is not None:
            self.engine.kill_one(first)
            time.sleep(apart_s)
        self.engine.kill()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The engine is stopped for as long as the block runs."""
        self._pauses = (self.paused_s(), time.monotonic())
        self.engine.pause()
        try:
            yield
        finally:
            self.engine.resume()
            self._pauses = (self.paused_s(), None)

    def paused_s(self) -> float:
        """How long it was stopped so far."""
        over, since = self._pauses
        return over + (time.monotonic() - since if since is not None else 0.0)

    def collect(self) -> None:
        """Add the counters of the engine, which is about to end, to those of its predecessors."""
        self.counters += self.engine.counters()

    def ended(self) -> Counter[str]:
        """End the engine; the counters of all that were here."""
        self.collect()
        self.engine.kill()
        return self.counters

    def close(self) -> None:
        """End the engine."""
        if self._engine is not None:
            self._engine.kill()
