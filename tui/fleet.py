"""All daemons at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from pegaflow.observe.rows import percent
from pegaflow.observe.snapshot import Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import rate, seconds
from pegaflow.tui.host import Host
from pegaflow.tui.panels.table import Column, TablePanel
from pegaflow.tui.view import View
from pegaflow.units import format_duration


@dataclass(frozen=True)
class HostRow:
    """One daemon, and how old what is known of it is."""

    name: str
    now: Snapshot | None
    age_s: float | None
    error: str | None


class FleetPanel(TablePanel[HostRow]):
    """A row for each daemon, and what they do together."""

    NAME = "fleet"
    TITLE = "Fleet"
    HELP = "A row for each daemon; Enter shows all of one."
    IS_OF_FLEET = True
    columns = (
        Column[HostRow](
            "daemon", 16, lambda one: one.name, lambda one: one.name, right=False, grows=True
        ),
        Column[HostRow]("state", 12, lambda one: _state(one), lambda one: _state(one), right=False),
        Column[HostRow](
            "mem", 4, lambda one: _used(one, "memory"), lambda one: _used(one, "memory")
        ),
        Column[HostRow]("ssd", 4, lambda one: _used(one, "ssd"), lambda one: _used(one, "ssd")),
        Column[HostRow]("hit", 4, lambda one: _hit(one), lambda one: _hit(one)),
        Column[HostRow](
            "save", 11, lambda one: _flow(one, "save"), lambda one: _bytes(one, "save")
        ),
        Column[HostRow](
            "load", 11, lambda one: _flow(one, "load"), lambda one: _bytes(one, "load")
        ),
        Column[HostRow](
            "engines",
            7,
            lambda one: f"{len(one.now.engines)}" if one.now else "-",
            lambda one: len(one.now.engines) if one.now else 0,
            least_panel=90,
        ),
        Column[HostRow](
            "alerts",
            6,
            lambda one: f"{len(one.now.alerts)}" if one.now else "-",
            lambda one: len(one.now.alerts) if one.now else 0,
        ),
        Column[HostRow](
            "age", 8, lambda one: seconds(one.age_s), lambda one: one.age_s or 0.0, least_panel=90
        ),
        Column[HostRow](
            "up",
            9,
            lambda one: format_duration(one.now.daemon.uptime_s) if one.now else "-",
            lambda one: one.now.daemon.uptime_s if one.now else 0.0,
            least_panel=100,
        ),
    )

    def __init__(self, hosts: Sequence[Host]) -> None:
        super().__init__("")
        self._hosts = hosts
        self.at = 0.0
        """When it is shown, for ages."""

    def rows(self, view: View) -> Sequence[HostRow]:
        """All of them, also those that never answered."""
        return [
            HostRow(
                host.name, host.now, host.age_s(self.at), str(host.error) if host.error else None
            )
            for host in self._hosts
        ]

    def level(self, view: View, row: HostRow) -> Level:
        """No answer is a fault."""
        if row.error or row.now is None:
            return "critical"
        return next((alert.level for alert in row.now.alerts), "ok")

    def facts(self, row: HostRow) -> tuple[str, dict[str, str]]:
        """One daemon in short; the dashboard opens its own view instead."""
        return row.name, {}

    def remark(self, view: View) -> str:
        """Why daemons do not answer."""
        return "; ".join(f"{host.name}: {host.error}" for host in self._hosts if host.error)


def _state(row: HostRow) -> str:
    if row.error:
        return "no answer"
    return row.now.daemon.state if row.now else "waiting"


def _used(row: HostRow, tier: str) -> str:
    parts = [part for part in row.now.tiers if part.tier == tier] if row.now else []
    capacity = sum(part.capacity_bytes for part in parts)
    return percent(sum(part.used_bytes for part in parts) / capacity if capacity else None)


def _hit(row: HostRow) -> str:
    return percent(row.now.window_blocks.hit_rate if row.now else None)


def _bytes(row: HostRow, flow: str) -> float:
    return row.now.flow(flow).bytes_per_s if row.now else 0.0


def _flow(row: HostRow, flow: str) -> str:
    return rate(_bytes(row, flow)) if row.now else "-"
