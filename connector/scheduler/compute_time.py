"""How long the engine takes to compute a token, which tells what is worth fetching from a disk."""

import statistics
import time
from collections import deque
from collections.abc import Callable
from typing import Final

_LEAST_TOKENS: Final = 256
"""A step of fewer tokens takes as long as its weights take to be read, however few they are."""

_SAMPLES: Final = 9


class ComputeTime:
    """Measures from one plan to the next: a busy engine plans a step when the one before is done.

    The median of the last steps counts, since an engine with nothing to do plans late.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[float] = deque(maxlen=_SAMPLES)
        self._planned_at = 0.0
        self._planned_tokens = 0

    def planned(self, tokens: int) -> float | None:
        """A step of so many tokens begins: seconds a token, if the step before it tells anew."""
        now = self._clock()
        tokens_before, self._planned_tokens = self._planned_tokens, tokens
        seconds, self._planned_at = now - self._planned_at, now
        if tokens_before < _LEAST_TOKENS:
            return None
        self._samples.append(seconds / tokens_before)
        return statistics.median(self._samples) if len(self._samples) == _SAMPLES else None
