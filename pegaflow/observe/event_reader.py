"""Reads a daemon's log of events: each once, and what is missing is told."""

from collections.abc import Callable

from pegaflow.document import parse
from pegaflow.event_models import EventPage, LoggedEvent
from pegaflow.units import format_count


class EventReader:
    """Where a reader is in the log of the daemon at some address, whichever start of it answers."""

    def __init__(self, get: Callable[[int, float], str]) -> None:
        """``get`` gives the page after a number, and waits some seconds for the next event."""
        self._get = get
        self.boot_id: str | None = None
        """The start of the daemon that is read; None before the first answer."""
        self._last = 0

    @property
    def position(self) -> tuple[str | None, int]:
        """The start of the daemon and the event up to which it was read."""
        return self.boot_id, self._last

    def has(self, boot_id: str, last: int) -> bool:
        """Whether everything up to the event ``last`` of this start was read."""
        return self.boot_id == boot_id and self._last >= last

    def read(self, wait_s: float = 0.0) -> list[LoggedEvent]:
        """What is new; waits up to ``wait_s`` seconds for something.

        Events that the daemon does not keep any more, and another start of it, are events too.
        """
        page = self._page(self._last, wait_s)
        told = list[LoggedEvent]()
        if self.boot_id not in (None, page.boot_id):
            page = self._page(0, 0.0)
            text = f"another start of the daemon answers, {page.boot_id}; its events follow"
            told.append(_own("restarted", text, page))
        if page.lost:
            text = f"{format_count(page.lost, 'event')} not kept any more"
            told.append(_own("lost", text, page))
        self.boot_id, self._last = page.boot_id, page.last
        return [*told, *page.events]

    def _page(self, after: int, wait_s: float) -> EventPage:
        return parse(EventPage, self._get(after, wait_s))


def _own(kind: str, text: str, page: EventPage) -> LoggedEvent:
    """What the reader says of itself, at the time of the first event that it got."""
    at = page.events[0].at if page.events else 0.0
    return LoggedEvent(None, at, kind, "warning", None, text)
