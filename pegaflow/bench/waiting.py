"""Waiting for a condition, with a deadline."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from pegaflow.errors import CallTimeout

_PAUSE_S: Final = 0.005

Answer = TypeVar("Answer")


def wait_until(condition: Callable[[], Answer | None], what: str, seconds: float) -> Answer:
    """Ask ``condition`` until its answer is true and return that answer.

    Raises ``CallTimeout``, naming ``what``, after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise CallTimeout(f"{what}: not within {seconds:g} s")
        time.sleep(_PAUSE_S)
