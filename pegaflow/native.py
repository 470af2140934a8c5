"""The native module for the rest of the package: its errors become those of ``pegaflow.errors``."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pegaflow import _native, errors

_ERRORS: Final[dict[type[_native.NativeError], type[errors.PegaflowError]]] = {
    _native.ConfigError: errors.ConfigError,
    _native.Unreachable: errors.Unreachable,
    _native.CallTimeout: errors.CallTimeout,
    _native.Refused: errors.Refused,
}


@contextmanager
def translated() -> Iterator[None]:
    """Raise what the native module raises in this block as the package's own error."""
    try:
        yield
    except _native.NativeError as error:
        kind = _ERRORS.get(type(error), errors.PegaflowError)
        raise kind(str(error)) from error
