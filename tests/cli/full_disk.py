"""A disk without any room."""

import errno
import os


def no_space(_: int) -> None:
    """Stands in for ``os.fsync``."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
