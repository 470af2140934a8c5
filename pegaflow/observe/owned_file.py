"""The file that a recorder appends to: nobody else's, and nothing but a recording."""

import errno
import fcntl
import io
import os
import re
import zlib
from pathlib import Path
from typing import Final

from pegaflow.observe.sample import RECORDING

MEMBER_MARK: Final = b"\x1f\x8b\x08"
"""What a gzip member begins with."""
GZIP: Final = 31
"""``wbits`` of a stream with the header and the check of gzip."""

_BEGINNING: Final = f'{{"schema":"{RECORDING}",'.encode()
_HEADER: Final = b"\0\0\0\0\x02\xff"
"""How the header of a recorder's member goes on, from its fifth byte: of no time or system."""
_LOOKED_AT_BYTES: Final = 1 << 16


def own(file: Path) -> io.BufferedWriter:
    """The file, to append to, which is nobody else's until it is closed.

    Raises ``BlockingIOError`` when another has it, and ``FileExistsError`` when it has something
    else than a recording; that stays as it is.
    """
    raw = file.open("ab")
    try:
        fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(raw.fileno()).st_size:
            refuse_others(file)
    except OSError:
        raw.close()
        raise
    return raw


def refuse_others(file: Path) -> None:
    """Raises ``FileExistsError`` when something is in ``file`` and it is no recording."""
    with file.open("rb") as opened:
        data = opened.read(_LOOKED_AT_BYTES)
    if data and not (data.startswith(MEMBER_MARK) and _is_recording(data)):
        raise FileExistsError(errno.EEXIST, f"{file} is there and is no recording", str(file))


def _is_recording(data: bytes) -> bool:
    """Whether a file that begins with ``data`` is of a recorder, which may have been killed."""
    first = _first_text(data)
    if first == _BEGINNING:
        return True
    if not _HEADER.startswith(data[4:10]):
        return False
    # Torn before its form is known, it has no sample yet; the next recorder goes on behind it.
    if first is not None and _BEGINNING.startswith(first) and len(data) < _LOOKED_AT_BYTES:
        return True
    others = (mark.start() for mark in re.finditer(MEMBER_MARK, data))
    return any(_first_text(data[start:]) == _BEGINNING for start in others)


def _first_text(member: bytes) -> bytes | None:
    """What a member begins with, no longer than ``_BEGINNING``; None: it has less, or is none."""
    unpacker = zlib.decompressobj(wbits=GZIP)
    try:
        text = unpacker.decompress(member, len(_BEGINNING))
    except zlib.error:
        return None
    return None if unpacker.eof and text != _BEGINNING else text
