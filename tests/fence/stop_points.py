"""Stops a daemon at the n-th step of a transfer: the near end of ``stop_points.c``."""

import struct
from pathlib import Path
from typing import Final

from tests.engine.preloaded import Preloaded

_SOURCE: Final = Path(__file__).with_name("stop_points.c")
_STOP_AT: Final = 0
_SEEN: Final = 8
_FAILS: Final = 16
_BYTES: Final = 24


class StopPoints:
    """A library for ``LD_PRELOAD`` in ``directory`` and the words that arm it."""

    def __init__(self, directory: Path) -> None:
        preloaded = Preloaded(_SOURCE, directory, bytes(_BYTES))
        self.environment: Final = preloaded.environment
        self._words = preloaded.words

    def arm(self, step: int) -> None:
        """Stop at this step from now on, counted from 1; 0 only counts."""
        struct.pack_into("<Q", self._words, _SEEN, 0)
        struct.pack_into("<Q", self._words, _STOP_AT, step)

    def disarm(self) -> int:
        """Stop no more; how many steps there were since ``arm``."""
        struct.pack_into("<Q", self._words, _STOP_AT, 0)
        seen: int = struct.unpack_from("<Q", self._words, _SEEN)[0]
        return seen

    def fail_loads(self, fails: bool) -> None:
        """Whether copies into engines fail from now on."""
        struct.pack_into("<Q", self._words, _FAILS, fails)
