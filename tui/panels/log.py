"""What happened."""

from collections.abc import Sequence

from pegaflow.observe.events import Event
from pegaflow.observe.rows import iso_time
from pegaflow.observe.thresholds import Level
from pegaflow.tui.panels.table import Column, TablePanel
from pegaflow.tui.view import View


class LogPanel(TablePanel[Event]):
    """Events, the newest first."""

    NAME = "events"
    TITLE = "Events"
    HELP = "What changed between readings: engines, states, restarts, failures, corrupt blocks."
    NOTHING = "nothing happened yet"
    columns = (
        Column[Event]("time", 8, lambda one: iso_time(one.at)[11:19], lambda one: one.at),
        Column[Event]("event", 20, lambda one: one.text, lambda one: one.text, right=False),
    )

    def rows(self, view: View) -> Sequence[Event]:
        """All that are kept."""
        return view.events[::-1]

    def level(self, view: View, row: Event) -> Level:
        """As bad as it was."""
        return row.level

    def facts(self, row: Event) -> tuple[str, dict[str, str]]:
        """One event, whole."""
        return "Event", {"time": iso_time(row.at), "event": row.text}
