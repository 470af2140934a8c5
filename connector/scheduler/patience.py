"""How long a request may be deferred for an answer of the cache."""

import time
from collections.abc import Callable
from typing import Final

from pegaflow.connector.scheduler.tracker import Record

_PATIENCE_S: Final = 5.0
"""A request is not deferred longer than this."""

_RETRY_S: Final = 30.0
"""After one request ran out of patience, none waits until an answer came or this has passed."""


class Patience:
    """Bounds the deferral of each request, and of all together while nothing answers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._gone_until = float("-inf")
        self.given_up = 0
        """Requests that were scheduled without an answer, since the last reset."""

    def defers(self, record: Record) -> bool:
        """There is no answer yet: whether the request should ask again in a later step."""
        now = self._clock()
        if record.gave_up:
            return False
        if record.waiting_since is None:
            record.waiting_since = now
        if now - record.waiting_since < _PATIENCE_S and now >= self._gone_until:
            return True
        record.gave_up = True
        self.given_up += 1
        self._gone_until = max(self._gone_until, now + _RETRY_S)
        return False

    def answered(self) -> None:
        """An answer came, so it is worth waiting for others."""
        self._gone_until = float("-inf")
