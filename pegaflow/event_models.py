"""The daemon's log of events, as it answers with it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LoggedEvent:
    """Something that happened, as the daemon or its reader tells it."""

    sequence: int | None
    """None for what the reader says of itself."""
    at: float
    kind: str
    level: str
    """``ok``, ``warning`` or ``critical``."""
    subject: str | None
    text: str


@dataclass(frozen=True)
class EventPage:
    """What happened after the event with some number."""

    boot_id: str
    lost: int
    """Events after it that are not kept any more."""
    last: int
    """The number to ask for next."""
    events: tuple[LoggedEvent, ...]
