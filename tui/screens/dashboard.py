"""The screen of the dashboard: bars above and below, the panels between."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Input

from pegaflow.tui import bars, fleet_bars
from pegaflow.tui.bar import Banner, Bar
from pegaflow.tui.fleet import FleetPanel
from pegaflow.tui.fleet_log import FleetLogPanel
from pegaflow.tui.glyphs import ASCII
from pegaflow.tui.grid import PanelGrid
from pegaflow.tui.host import Host
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels import PANELS, Panel, TablePanel
from pegaflow.tui.view import Preferences, View

_PADDING: Final = 2
"""Cells beside the text of a line."""


@dataclass(frozen=True)
class Sight:
    """What is to be seen."""

    at: float
    """When, for ages."""
    tab: int
    """0 for the fleet, then the daemons."""
    preferences: Preferences
    cost: Line
    """How often daemons are read, and what that costs."""
    interval_s: float


class Dashboard(Screen[None]):
    """Bars and panels, which draw what changes."""

    BLANK = True

    def __init__(self, hosts: Sequence[Host]) -> None:
        super().__init__(id="_default")
        self._hosts = hosts
        self._sight: Sight | None = None
        self._grid: PanelGrid | None = None
        self._panels: list[Panel] = []
        self._bars: dict[str, Bar | Banner] = {}

    def compose(self) -> ComposeResult:
        """Bars above and below, the panels between."""
        yield Bar("header")
        yield Bar("host")
        yield Bar("tabs")
        yield Banner("banner")
        yield Banner("alert")
        yield Banner("empty")
        with PanelGrid(id="panels"):
            if len(self._hosts) > 1:
                yield FleetPanel(self._hosts)
                yield FleetLogPanel(self._hosts)
            for key, panel in PANELS.items():
                yield panel(key.upper())
        yield Bar("advice")
        yield Input(id="filter", placeholder="filter: a regular expression, ! turns it around")
        yield Bar("hints")

    def on_mount(self) -> None:
        """Draw what was to be seen before there was something to draw it with."""
        self._filter.display = False
        self._grid = self.query_one(PanelGrid)
        self._panels = list(self.query(Panel))
        self._bars = {str(bar.id): bar for bar in self.query(Bar)}
        self._bars |= {str(banner.id): banner for banner in self.query(Banner)}
        self._bars["tabs"].display = len(self._hosts) > 1
        if self._sight is not None:
            self.show(self._sight)

    def show(self, sight: Sight) -> None:
        """Draw it, as far as it differs from what is there."""
        self._sight = sight
        if self._grid is None:
            return
        self.set_class(sight.preferences.glyphs is ASCII, "-ascii")
        shown = self._shown(sight)
        views = (host.view(sight.preferences) for host in shown)
        view = next((one for one in views if one is not None), None)
        wanted = {panel for panel in self._panels if view and _is_wanted(panel, view, sight)}
        self.show_bars(sight)
        self._bars["empty"].show(self._empty(view, wanted, sight))
        self._grid.display = bool(wanted)
        seen = self._grid.content_region
        for panel in self._panels:
            is_wanted = panel in wanted
            if panel.display != is_wanted:
                panel.display = is_wanted
            if isinstance(panel, FleetPanel):
                panel.at = sight.at
            panel.is_maximised = panel is self.maximized
            if view is not None and is_wanted:
                panel.show(view, is_seen=panel.is_maximised or panel.region.overlaps(seen))

    def show_bars(self, sight: Sight) -> None:
        """Draw the bars alone."""
        if self._grid is None:
            return
        glyphs, width = sight.preferences.glyphs, self.size.width - _PADDING
        host = self.host(sight.tab)
        if sight.tab:
            lines = bars.of_host(host, sight.at, glyphs, width, sight.cost)
        else:
            lines = fleet_bars.of_fleet(self._hosts, sight.at, glyphs, width, sight.cost)
        has_several = len(self._hosts) > 1
        if has_several:
            lines["tabs"] = fleet_bars.tabs(self._hosts, sight.tab, width)
        modes = sight.preferences.modes(is_reset=host.history.is_reset)
        lines["hints"] = bars.hints(modes, width, has_several=has_several)
        for name, line in lines.items():
            self._bars[name].show(line)

    def host(self, tab: int) -> Host:
        """The daemon of a tab; the first one for the fleet."""
        return self._hosts[max(tab - 1, 0)]

    def tables(self) -> list[TablePanel[object]]:
        """The table with the focus, else all that are shown."""
        if isinstance(self.focused, TablePanel):
            return [self.focused]
        return [table for table in self.query(TablePanel) if table.display]

    def scroll_panels(self, lines: int) -> None:
        """Show what is above or below, where the focus is on no row."""
        if self._grid is not None and not isinstance(self.focused, TablePanel):
            self._grid.scroll_relative(y=lines, animate=False)

    @property
    def is_filter_open(self) -> bool:
        """Whether the user types a filter."""
        return bool(self._filter.display)

    def open_filter(self) -> None:
        """Let the user type a filter."""
        self._filter.display = True
        self._filter.focus()

    def close_filter(self) -> None:
        """Take the filter's line away."""
        self._filter.display = False
        self.set_focus(None)

    def clear_filter(self) -> None:
        """Begin the filter anew."""
        self._filter.value = ""

    @property
    def _filter(self) -> Input:
        return self.query_one("#filter", Input)

    def _shown(self, sight: Sight) -> Sequence[Host]:
        return [self.host(sight.tab)] if sight.tab else self._hosts

    def _empty(self, view: View | None, wanted: Collection[Panel], sight: Sight) -> Line:
        """What is said in place of panels."""
        if view is None:
            return bars.waiting(self._shown(sight), sight.interval_s)
        if wanted:
            return ()
        if sight.preferences.faults_only:
            return styled("Nothing is at fault; z shows all.")
        return styled("All panels are hidden; their keys show them, ? says which.")


def _is_wanted(panel: Panel, view: View, sight: Sight) -> bool:
    if (sight.tab == 0) != panel.IS_OF_FLEET or panel.NAME in sight.preferences.hidden:
        return False
    return not sight.preferences.faults_only or not panel.is_quiet(view)
