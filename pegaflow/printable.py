"""Text for terminals."""

from typing import Final

_MOST_QUOTED: Final = 60


def printable(text: str) -> str:
    r"""``text`` with escapes for what could move a cursor or change a terminal.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in text
    )


def quoted(value: object) -> str:
    """``value`` as Python writes it, short enough for a sentence.

    >>> quoted("many"), quoted("9" * 100)[-8:]
    ("'many'", '99999...')
    """
    text = repr(value)
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}..."
