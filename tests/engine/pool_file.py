"""Reads and edits a daemon's pool from outside, by native/docs/format.md alone."""

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MAGIC: Final = b"PEGASLOT"
_HEADER: Final = struct.Struct("<8sIIQIIQQQIIQQQ")
_RECORD: Final = struct.Struct("<QIHH16s32s")
_SEALED: Final = 3
SLOT_RECORD_BYTES: Final = _RECORD.size
"""Bytes of a page's record in the slot table."""

_STATE_BITS: Final = 0xFF
_HAS_CHECKSUM: Final = 1 << 8


@dataclass(frozen=True)
class SealedPage:
    """A page that lookups can find; ``offset`` and ``length`` are in the pool."""

    block_hash: bytes
    space: int
    shard: int
    offset: int
    length: int
    has_checksum: bool
    """Whether the next daemon takes it."""


def sealed_pages(pool: Path) -> Iterator[SealedPage]:
    """The sealed pages of a running daemon's pool, in the order of their slots."""
    with _slot_table(pool).open("rb") as table:
        header = _HEADER.unpack(table.read(_HEADER.size))
        magic, pool_bytes, slab_bytes, page_unit, record_bytes, records_at = (
            header[index] for index in (0, 7, 8, 9, 10, 12)
        )
        assert (magic, record_bytes) == (_MAGIC, SLOT_RECORD_BYTES), f"{pool} has another format"
        # The table has records for all that the pool can grow to, nearly all of them holes.
        table.seek(records_at)
        records = table.read(pool_bytes // page_unit * record_bytes)
    slots_per_slab = slab_bytes // page_unit
    for slot in range(len(records) // record_bytes):
        state, length, space, shard, _checksum, block_hash = _RECORD.unpack_from(
            records, slot * record_bytes
        )
        if state & _STATE_BITS != _SEALED:
            continue
        slab, index = divmod(slot, slots_per_slab)
        stride = -(-length // page_unit) * page_unit
        offset = slab * slab_bytes + index * stride
        has_checksum = bool(state & _HAS_CHECKSUM)
        yield SealedPage(block_hash, space, shard, offset, length, has_checksum)


def all_have_checksums(pool: Path) -> bool:
    """Whether the next daemon would take every sealed page."""
    return all(page.has_checksum for page in sealed_pages(pool))


def _slot_table(pool: Path) -> Path:
    beside = pool.with_suffix(".slots")
    return beside if beside.exists() else Path("/dev/shm") / beside.name


def swap_bytes(pool: Path, one: SealedPage, other: SealedPage) -> None:
    """Exchange the bytes of two pages of equal length, behind the daemon's back."""
    assert one.length == other.length, "the pages differ in length"
    descriptor = os.open(pool, os.O_RDWR)
    try:
        with mmap.mmap(descriptor, 0) as pages:
            first = pages[one.offset : one.offset + one.length]
            second = pages[other.offset : other.offset + other.length]
            assert first != second, "the pages hold the same bytes"
            pages[one.offset : one.offset + one.length] = second
            pages[other.offset : other.offset + other.length] = first
    finally:
        os.close(descriptor)
