"""The native module for the rest of the package: its errors become those of ``pegaflow.errors``."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from pegaflow import _native, errors

_ERRORS: Final[dict[type[_native.NativeError], type[errors.PegaflowError]]] = {
    _native.ConfigError: errors.ConfigError,
    _native.Unreachable: errors.Unreachable,
    _native.CallTimeout: errors.CallTimeout,
    _native.Refused: errors.Refused,
}

_LOOK_S: Final = 0.1

R = TypeVar("R")


@contextmanager
def translated() -> Iterator[None]:
    """Raise what the native module raises in this block as the package's own error."""
    try:
        yield
    except _native.NativeError as error:
        kind = _ERRORS.get(type(error), errors.PegaflowError)
        raise kind(str(error)) from error


def interruptible(work: Callable[[], R]) -> R:
    """Do ``work``, which blocks in the native module, and return what it returns.

    It is done in another thread, so that Ctrl-C ends the wait for it at once.
    """
    ended: list[R | BaseException] = []

    def run() -> None:
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    # In short waits: a signal that comes just before a wait begins does not end it.
    while thread.is_alive():
        thread.join(_LOOK_S)
    (end,) = ended
    if isinstance(end, BaseException):
        raise end
    return end
