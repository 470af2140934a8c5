"""Files that are there whole or not at all, also when a kill or a full disk ends their writing."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from pegaflow.errors import ConfigError, PegaflowError

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""What is no fault of the name."""
_WITHOUT_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


@contextmanager
def whole_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """A file beside ``path``, which gets that name at the end of the block and no earlier.

    Where the block raises, it is gone and ``path`` is as it was. A kill can leave it under its own
    name, ``.pegaflow-*.part``. A pipe or device at ``path`` is written to as it is. Raises
    ``FileExistsError`` when a file is there that is not to be replaced, ``ConfigError`` when none
    can be made there, and ``PegaflowError`` when it cannot be written to its end.
    """
    if not replace and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    try:
        with _named_at_the_end(path, replace=replace) as file:
            yield file
    except FileExistsError:
        raise
    except OSError as error:
        raise PegaflowError(f"{path} cannot be written to its end: {error.strerror}") from error


@contextmanager
def _named_at_the_end(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    # A link stays one, and what it leads to is replaced.
    target = Path(os.path.realpath(path)) if replace else path
    if replace and path.exists() and not path.is_file():
        with _opened(path, path, "wb") as file:
            yield file
        return
    part = target.with_name(f".pegaflow-{secrets.token_hex(8)}.part")
    file = _opened(part, path, "xb")
    try:
        with file:
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            part.replace(target)
        else:
            _name(part, target)
    finally:
        part.unlink(missing_ok=True)


def _opened(file: Path, path: Path, mode: str) -> BinaryIO:
    try:
        return file.open(mode)  # type: ignore[return-value]
    except OSError as error:
        if error.errno in _FULL:
            raise
        raise ConfigError(
            f"{path} cannot be written ({error.strerror}): give another name"
        ) from error


def _name(part: Path, path: Path) -> None:
    """Give the file its name, unless there is one of that name by now."""
    try:
        path.hardlink_to(part)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        # Such a file system has no way to do both at once.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        part.rename(path)
