"""Names of files: UTF-8 for the daemon, and what Python makes of the same bytes in this locale."""

import json
import os
from typing import Any, Final

from pegaflow.printable import printable

NAME_FORM: Final = "a path of printable UTF-8"
"""What ``local_name`` accepts, in words."""


def local_name(text: str) -> str:
    """The path ``text`` as Python's functions take it, whatever the locale's encoding is.

    Raises ``ValueError`` for bytes that are not UTF-8, which no JSON can hold, and for what is not
    printable, which no daemon tells as it is.
    """
    if not daemon_name(text).isprintable():
        raise ValueError(text)
    return os.fsdecode(text.encode(errors="surrogateescape"))


def daemon_name(text: str) -> str:
    """A path as the daemon has it; ``ValueError`` for bytes that are not UTF-8."""
    return text.encode(errors="surrogateescape").decode()


def shown_name(text: str) -> str:
    """A path for a text that is UTF-8 and printable, as a picture's is."""
    return printable(text.encode(errors="surrogateescape").decode(errors="replace"))


def daemon_json(document: Any) -> str:
    """``document`` as JSON with paths as the daemon has them; it may not be ASCII."""
    text = json.dumps(document, ensure_ascii=False)
    return text.encode(errors="surrogateescape").decode(errors="replace")
