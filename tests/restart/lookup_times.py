"""How long the connector's lookup call takes while its daemon is stopped, killed or restarting."""

import statistics
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from tests.connector.fake_request import FakeRequest
from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import fresh_hashes
from tests.restart.connected_engine import ConnectedEngine

LEAST_CALLS: Final = 2000

_ROUND_S: Final = 1.0
_REQUESTS: Final = 4
"""So many requests wait at a time."""

_STEP_S: Final = 0.002
"""What a step takes besides its lookups: vLLM computes something too."""

_WAIT_S: Final = 0.004
"""What a lookup may wait, to see how late this machine wakes a waiting thread."""


def _restart(daemon: DaemonProcess) -> None:
    daemon.kill()
    daemon.start()


def _nothing(daemon: DaemonProcess) -> None:
    pass


EVENTS: Final[
    Mapping[str, tuple[Callable[[DaemonProcess], None], Callable[[DaemonProcess], None]]]
] = {
    "stopped": (DaemonProcess.pause, DaemonProcess.resume),
    "killed": (DaemonProcess.kill, DaemonProcess.start),
    "restarting": (_restart, _nothing),
}
"""What happens to the daemon, and what makes it answer again."""


class LookupTimes:
    """Calls of ``match`` in scheduler steps, each measured inside, around one of ``EVENTS``."""

    def __init__(self, daemon: DaemonProcess, engine: ConnectedEngine, event: str) -> None:
        self.calls: list[float] = []
        """Seconds of each call."""
        self.late_wakes: list[float] = []
        """By how much the machine was late to wake a thread, at the same times."""
        self._engine = engine
        self._waiting: list[FakeRequest] = []
        engine.match_seconds = self.calls
        happen, undo = EVENTS[event]
        while len(self.calls) < LEAST_CALLS:
            self._steps_during(lambda: happen(daemon))
            undo(daemon)
            self._wait_answered()

    def _steps_during(self, happen: Callable[[], None]) -> None:
        happening = threading.Thread(target=happen)
        happening.start()
        end = time.monotonic() + _ROUND_S
        while time.monotonic() < end or happening.is_alive():
            self._step()
        happening.join()

    def _step(self) -> None:
        while len(self._waiting) < _REQUESTS:
            self._waiting.append(self._engine.request(fresh_hashes(4)))
        for request in list(self._waiting):
            if self._engine.match(request) is not None:
                self._engine.side.finished(request)
                self._waiting.remove(request)
        self._engine.step()
        began = time.perf_counter()
        threading.Event().wait(_WAIT_S)
        self.late_wakes.append(time.perf_counter() - began - _WAIT_S)
        time.sleep(_STEP_S)

    def _wait_answered(self) -> None:
        self._engine.wait_attached()
        self._engine.wait_answered()


def p99(seconds: list[float]) -> float:
    """The 99th percentile."""
    return statistics.quantiles(seconds, n=100)[98]
