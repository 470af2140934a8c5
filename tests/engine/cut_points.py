"""Ends a daemon's connection at the n-th byte that it sends: the near end of ``cut_points.c``."""

import struct
from pathlib import Path
from typing import Final

from tests.engine.preloaded import Preloaded

_SOURCE: Final = Path(__file__).with_name("cut_points.c")
_LEFT: Final = 0
_SENT: Final = 8
_NEVER: Final = -1


class CutPoints:
    """A library for ``LD_PRELOAD`` in ``directory`` and the words that arm it."""

    def __init__(self, directory: Path) -> None:
        preloaded = Preloaded(_SOURCE, directory, struct.pack("<qQ", _NEVER, 0))
        self.environment: Final = preloaded.environment
        self._words = preloaded.words

    def cut_after(self, count: int) -> None:
        """End the connection over which the byte after the next ``count`` bytes would go."""
        struct.pack_into("<q", self._words, _LEFT, count)

    def disarm(self) -> bool:
        """Cut no more; whether a connection was."""
        left: int = struct.unpack_from("<q", self._words, _LEFT)[0]
        struct.pack_into("<q", self._words, _LEFT, _NEVER)
        return left == _NEVER

    def sent(self) -> int:
        """Bytes that the daemon has sent so far."""
        count: int = struct.unpack_from("<Q", self._words, _SENT)[0]
        return count
