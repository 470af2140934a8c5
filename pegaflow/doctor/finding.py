"""What a check found."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "problem"]
"""``note``: nothing is wrong, but it is worth knowing, such as what is absent."""


@dataclass(frozen=True)
class Finding:
    """One sentence, what it rests on, and what to do."""

    check: str
    level: Level
    text: str
    evidence: str
    """What was read, or tried, and what came of it."""
    remedy: str | None = None
    """What to do, mostly commands; None where nothing is to be done."""
