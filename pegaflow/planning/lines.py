"""What formats of traces have in common: a line is a request, or says why it is none."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pegaflow.planning.trace import Trace
from pegaflow.printable import quoted

MOST_TOKENS: Final = 1 << 24
"""Of a prompt: more than any model takes, and little enough to have names for all its blocks."""
MOST_SECONDS: Final = 10**12
"""Of a time, before and after 0; microseconds of it fit in 64 bits."""
_MOST_NOTES: Final = 20


class BadLine(ValueError):
    """A line that cannot be used."""


@dataclass(frozen=True)
class ReadOptions:
    """How a trace is read."""

    block_tokens: int | None = None
    """Tokens of a block; None for what the format has."""
    count_partial: bool = False
    """Count the partial block at a prompt's end too; engines cache full ones only."""
    shared_tokens: int = 0
    """Tokens that all prompts begin with, for traces that have no content."""
    skip_bad: bool = False
    """Go on behind lines that cannot be used, and list them."""
    sort_times: bool = False
    """Sort the requests by time, which needs memory for all of them, instead of refusing."""


@dataclass(frozen=True)
class Request:
    """One line's request."""

    time_s: float
    tokens: int
    """Of the prompt."""
    names: list[int]
    """Of the prompt's blocks, a partial one at the end included."""
    answer_tokens: int = 0
    """Of the answer, where the trace says it."""


class Fields:
    """Fields that a format has; others are noted where they are first."""

    def __init__(self, trace: Trace, known: Iterable[str]) -> None:
        self._notes = trace.notes
        self._seen = set(known)

    def look(self, line: int, raw: Mapping[str, Any]) -> None:
        """Look at the fields of a line."""
        unknown = raw.keys() - self._seen
        if unknown and len(self._notes) < _MOST_NOTES:
            self._seen |= unknown
            self._notes.append(
                f"line {line} has fields that are not used: {', '.join(sorted(unknown))}"
            )


Parse = Callable[[int, str], Request | None]
"""The request of a line with this number; None for a line that is not for one."""

Form = tuple[Trace, Parse]
"""An empty trace of a format, and how its lines are read."""


def number(raw: dict[str, Any], key: str, most: int) -> float:
    """A field that is a number from 0 to ``most``."""
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise BadLine(f"{key} is {quoted(value)}, allowed is a number from 0 to {most:,}")
    return value
