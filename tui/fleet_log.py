"""What happened to all daemons."""

from collections.abc import Sequence
from dataclasses import dataclass

from pegaflow.observe.events import Event
from pegaflow.observe.rows import iso_time
from pegaflow.observe.thresholds import Level
from pegaflow.tui.host import Host
from pegaflow.tui.panels.table import Column, TablePanel
from pegaflow.tui.view import View


@dataclass(frozen=True)
class HostEvent:
    """What happened to one of them."""

    host: str
    event: Event


class FleetLogPanel(TablePanel[HostEvent]):
    """Events of all daemons, the newest first."""

    NAME = "fleet-events"
    TITLE = "Events"
    HELP = "What changed between readings of any daemon."
    IS_OF_FLEET = True
    NOTHING = "nothing happened yet"
    columns = (
        Column[HostEvent](
            "time", 8, lambda one: iso_time(one.event.at)[11:19], lambda one: one.event.at
        ),
        Column[HostEvent](
            "daemon", 16, lambda one: one.host, lambda one: one.host, right=False, grows=True
        ),
        Column[HostEvent](
            "event", 20, lambda one: one.event.text, lambda one: one.event.text, right=False
        ),
    )

    def __init__(self, hosts: Sequence[Host]) -> None:
        super().__init__("")
        self._hosts = hosts

    def rows(self, view: View) -> Sequence[HostEvent]:
        """All that are kept."""
        found = [
            HostEvent(host.name, event) for host in self._hosts for event in host.history.events
        ]
        return sorted(found, key=lambda one: one.event.at, reverse=True)

    def level(self, view: View, row: HostEvent) -> Level:
        """As bad as it was."""
        return row.event.level

    def facts(self, row: HostEvent) -> tuple[str, dict[str, str]]:
        """One event, whole."""
        time = iso_time(row.event.at)
        return "Event", {"time": time, "daemon": row.host, "event": row.event.text}
