"""Following an operation: every event once, the end as often as it is asked for."""

import json
import signal
import threading
from dataclasses import asdict
from queue import SimpleQueue
from typing import cast

import pytest

from pegaflow import _native
from pegaflow.errors import CallTimeout, Refused
from pegaflow.models import Progress
from pegaflow.operation import Operation

PROGRESS = [Progress(number, number * 10, 9, 90) for number in range(5)]


class StandIn:
    """``pegaflow._native.Operation`` with events that a test puts into it."""

    def __init__(self) -> None:
        self.events = SimpleQueue[tuple[str, str] | Exception]()
        self.cancelled = 0

    def next(self) -> tuple[str, str]:
        event = self.events.get()
        if isinstance(event, Exception):
            raise event
        return event

    def cancel(self) -> None:
        self.cancelled += 1

    def follow(self) -> Operation:
        """The operation that tells these events."""
        return Operation(cast(_native.Operation, self))


def test_progress_comes_in_order_and_the_result_stays() -> None:
    native = StandIn()
    for progress in PROGRESS:
        native.events.put(("progress", json.dumps(asdict(progress))))
    native.events.put(("result", "{}"))
    operation = native.follow()
    assert [operation.next() for _ in PROGRESS] == PROGRESS
    assert [operation.next() for _ in range(3)] == ["{}"] * 3


@pytest.mark.parametrize(
    ("raised", "kind"),
    [(_native.Refused("no room"), Refused), (_native.CallTimeout("silent"), CallTimeout)],
)
def test_what_the_daemon_refuses_comes_after_the_progress_before_it(
    raised: Exception, kind: type[Exception]
) -> None:
    native = StandIn()
    native.events.put(("progress", json.dumps(asdict(PROGRESS[0]))))
    native.events.put(raised)
    operation = native.follow()
    assert operation.next() == PROGRESS[0]
    for _ in range(2):
        with pytest.raises(kind, match=str(raised)):
            operation.next()


@pytest.mark.timeout(30)
def test_ctrl_c_ends_a_wait_and_loses_no_event() -> None:
    native = StandIn()
    operation = native.follow()
    interrupt = threading.Timer(0, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        operation.next()
    operation.cancel()
    native.events.put(("progress", json.dumps(asdict(PROGRESS[1]))))
    native.events.put(("result", "{}"))
    assert [operation.next(), operation.next()] == [PROGRESS[1], "{}"]
    assert native.cancelled == 1
