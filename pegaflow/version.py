"""The version of the Python package; the native module's must be equal."""

from typing import Final

VERSION: Final = "0.1.0"
