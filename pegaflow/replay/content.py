"""The bytes of a trace's blocks, which no earlier run had, and whether they came through."""

import os
from hashlib import blake2b
from typing import Final

_SOURCE_BYTES: Final = 1 << 20
_STEP: Final = 0x9E3779B97F4A7C15
_NAME_BYTES: Final = 8


class Content:
    """Each block's hash and bytes, by its name in the trace; another run has other ones."""

    def __init__(self, block_bytes: int) -> None:
        self.block_bytes = block_bytes
        self._key = os.urandom(32)
        self._source = os.urandom(_SOURCE_BYTES + block_bytes)

    def hash_of(self, name: int) -> bytes:
        """The block's hash, of 32 bytes."""
        return blake2b(name.to_bytes(_NAME_BYTES, "little"), digest_size=32, key=self._key).digest()

    def of(self, name: int) -> bytes:
        """The block's bytes: its name, then a window into fresh random bytes."""
        start = (name * _STEP >> 11) % _SOURCE_BYTES
        window = self._source[start + _NAME_BYTES : start + self.block_bytes]
        return name.to_bytes(_NAME_BYTES, "little") + window
