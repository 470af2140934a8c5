"""Waiting for a condition with a deadline; the only way in which these tests wait."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

_PAUSE_S: Final = 0.005

Answer = TypeVar("Answer")


class DeadlinePassed(AssertionError):
    """The condition did not become true in time."""


def wait_until(condition: Callable[[], Answer | None], what: str, seconds: float) -> Answer:
    """Ask ``condition`` until its answer is true and return that answer.

    Raises ``DeadlinePassed``, naming ``what``, after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise DeadlinePassed(f"{what}: not within {seconds:g} s")
        time.sleep(_PAUSE_S)
