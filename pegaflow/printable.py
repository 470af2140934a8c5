"""Text for terminals."""


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
