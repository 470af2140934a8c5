"""The dashboard: wiring between pollers, hosts, panels and keys."""

import dataclasses
import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from pegaflow.errors import PegaflowError
from pegaflow.observe import fleet
from pegaflow.observe.operator import Operator
from pegaflow.observe.sample import Sample
from pegaflow.observe.settings import THEMES, checked_theme
from pegaflow.observe.source import Source
from pegaflow.observe.thresholds import DEFAULTS, Threshold
from pegaflow.tui import bars, evicting, fleet_bars
from pegaflow.tui.bar import Banner, Bar
from pegaflow.tui.fleet import FleetPanel
from pegaflow.tui.fleet_log import FleetLogPanel
from pegaflow.tui.glyphs import ASCII, UNICODE
from pegaflow.tui.grid import PanelGrid
from pegaflow.tui.host import Host
from pegaflow.tui.keys import KEYS, PANEL_KEYS, checked_keymap
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels import PANELS, Panel, TablePanel
from pegaflow.tui.poller import Poller
from pegaflow.tui.screens.confirmation import Confirmation, Target
from pegaflow.tui.screens.help import help_page
from pegaflow.tui.screens.page import facts_page
from pegaflow.tui.view import Filter, Preferences, View

INTERVALS_S: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""What + and - step through."""

_CPU_WINDOW_S: Final = 5.0
"""What the dashboard's own cost is measured over."""

_LOW: Final = 30
"""Below so many lines less is shown of each panel, so that there are more of them."""

_PADDING: Final = 2
"""Cells beside the text of a line."""


class Ground(Screen[None]):
    """What is behind the panels."""

    BLANK = True


class TopApp(App[None]):
    """Shows daemons until the user quits."""

    CSS_PATH = "top.tcss"
    TITLE = "pegaflow top"
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS, *PANEL_KEYS]
    AUTO_FOCUS = None
    SHOWN_KEYS: ClassVar[Sequence[Binding]] = KEYS
    """What the help screen and the palette have, those of panels apart."""

    COMMAND_PALETTE_BINDING = "ctrl+p"

    class Received(Message):
        """A reading of a daemon."""

        def __init__(self, host: Host, result: Sample | PegaflowError) -> None:
            super().__init__()
            self.host = host
            self.result = result

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        thresholds: Mapping[str, Threshold] = DEFAULTS,
        interval_s: float = 1.0,
        ascii_only: bool = False,
        keymap: Mapping[str, str] | None = None,
        theme: str | None = None,
        clock: Callable[[], float] = time.time,
        polls: bool = True,
        operators: Mapping[str, Operator] | None = None,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self._grid: PanelGrid | None = None
        self.hosts = [Host(source.host, thresholds) for source in sources]
        self.preferences = Preferences(glyphs=ASCII if ascii_only else UNICODE)
        self.interval_s = interval_s
        self.paused = False
        self.shown = 0 if len(sources) > 1 else 1
        """The tab: 0 for the fleet, then the daemons."""
        self._operators = dict(operators or {})
        self._hidden: set[str] = set()
        self._panels: list[Panel] = []
        self._lines: dict[str, Bar | Banner] = {}
        self._is_compact: bool | None = None
        """What the user wants; None: as the terminal has room."""
        self._keys = checked_keymap(keymap or {}, (*self.SHOWN_KEYS, *PANEL_KEYS))
        self._first_theme = checked_theme(theme or THEMES[0])
        self._clock = clock
        self._polls = polls
        self._cpu = (time.monotonic(), time.process_time())
        self._own_cpu: float | None = None
        self._pollers = [
            Poller(source, interval_s, self._poster(host))
            for source, host in zip(sources, self.hosts, strict=True)
        ]

    @property
    def host(self) -> Host:
        """The daemon that is shown; the first one for the fleet."""
        return self.hosts[max(self.shown - 1, 0)]

    def get_default_screen(self) -> Screen[None]:
        """A screen that has nothing to draw itself."""
        return Ground(id="_default")

    def compose(self) -> ComposeResult:
        """Bars above and below, the panels between."""
        yield Bar("header")
        yield Bar("host")
        yield Bar("tabs")
        yield Banner("banner")
        yield Banner("alert")
        yield Banner("empty")
        with PanelGrid(id="panels"):
            if len(self.hosts) > 1:
                yield FleetPanel(self.hosts)
                yield FleetLogPanel(self.hosts)
            for key, panel in PANELS.items():
                yield panel(key.upper())
        yield Bar("advice")
        yield Input(id="filter", placeholder="filter: a regular expression, ! turns it around")
        yield Bar("hints")

    def on_mount(self) -> None:
        """Start to read."""
        self.theme = self._first_theme
        self.set_keymap(self._keys)
        self.screen.set_class(self.preferences.glyphs is ASCII, "-ascii")
        self.query_one("#filter").display = False
        self._grid = self.query_one(PanelGrid)
        self._panels = list(self.query(Panel))
        self._lines = {str(line.id): line for line in self.query(Bar)}
        self._lines |= {str(line.id): line for line in self.query(Banner)}
        self._lines["tabs"].display = len(self.hosts) > 1
        self.redraw()
        if self._polls:
            self.set_interval(1.0, self._tick)
            for poller in self._pollers:
                poller.start()

    def on_unmount(self) -> None:
        """Read no more."""
        for poller in self._pollers:
            poller.stop()

    def on_resize(self, event: Resize) -> None:
        """Bars are as wide as the terminal, and a low one shows less of each panel at first."""
        if self._is_compact is None:
            is_low = event.size.height < _LOW
            self.preferences = dataclasses.replace(self.preferences, compact=is_low)
        self.redraw()

    @on(PanelGrid.Moved)
    def draw_after_scrolling(self) -> None:
        """Draw what came while nobody could see it."""
        self.call_after_refresh(self.redraw)

    @on(Received)
    def receive(self, message: Received) -> None:
        """Take a reading; a paused dashboard shows it later."""
        message.host.receive(message.result)
        if not self.paused and (self.shown == 0 or message.host is self.host):
            self.redraw()

    def redraw(self) -> None:
        """Show what is known now."""
        if self._grid is None:
            return
        at = self._clock()
        shown = self.hosts if self.shown == 0 else [self.host]
        views = (host.view(self.preferences) for host in shown)
        view = next((one for one in views if one is not None), None)
        wanted = {panel for panel in self._panels if view and self._is_wanted(panel, view)}
        self._draw_bars(at)
        self._lines["empty"].show(self._empty(view, wanted))
        self._grid.display = bool(wanted)
        sight, maximised = self._grid.content_region, self.screen.maximized
        for panel in self._panels:
            is_wanted = panel in wanted
            if panel.display != is_wanted:
                panel.display = is_wanted
            if isinstance(panel, FleetPanel):
                panel.at = at
            panel.is_maximised = panel is maximised
            if view is not None and is_wanted:
                panel.show(view, is_seen=panel.is_maximised or panel.region.overlaps(sight))

    def _empty(self, view: View | None, wanted: Collection[Panel]) -> Line:
        """What is said in place of panels."""
        if view is None:
            return bars.waiting(self.hosts if self.shown == 0 else [self.host], self.interval_s)
        if wanted:
            return ()
        if self.preferences.faults_only:
            return styled("Nothing is at fault; z shows all.")
        return styled("All panels are hidden; their keys show them, ? says which.")

    def _is_wanted(self, panel: Panel, view: View) -> bool:
        if (self.shown == 0) != panel.IS_OF_FLEET:
            return False
        if panel.NAME in self._hidden:
            return False
        return not self.preferences.faults_only or not panel.is_quiet(view)

    def _draw_bars(self, at: float) -> None:
        glyphs, width, cost = self.preferences.glyphs, self.size.width - _PADDING, self.cost_line()
        if self.shown:
            lines = bars.of_host(self.host, at, glyphs, width, cost)
        else:
            lines = fleet_bars.of_fleet(self.hosts, at, glyphs, width, cost)
        has_several = len(self.hosts) > 1
        if has_several:
            lines["tabs"] = fleet_bars.tabs(self.hosts, self.shown, width)
        lines["hints"] = bars.hints(self._restrictions(), width, has_several=has_several)
        for name, content in lines.items():
            self._lines[name].show(content)

    def cost_line(self) -> Line:
        """How often daemons are read, and what that costs."""
        return bars.cost(self.interval_s, self._own_cpu)

    def _restrictions(self) -> tuple[str, ...]:
        """What the view leaves out, and the keys that end that."""
        preferences = self.preferences
        modes = {
            "PAUSED, p goes on": self.paused,
            "FAULTS ONLY, z shows all": preferences.faults_only,
            f"FILTER {preferences.filter.text}, Esc clears": bool(preferences.filter.text),
            "SINCE R, Esc ends": self.host.history.is_reset,
        }
        return tuple(mode for mode, is_on in modes.items() if is_on)

    def _tick(self) -> None:
        """Ages grow, also of what is paused or does not come."""
        wall, cpu = time.monotonic(), time.process_time()
        if wall - self._cpu[0] >= _CPU_WINDOW_S:
            self._own_cpu = (cpu - self._cpu[1]) / (wall - self._cpu[0])
            self._cpu = (wall, cpu)
        if self.paused or any(host.error for host in self.hosts):
            self._draw_bars(self._clock())

    def _poster(self, host: Host) -> Callable[[Sample | PegaflowError], None]:
        def post(result: Sample | PegaflowError) -> None:
            self.post_message(self.Received(host, result))

        return post

    def action_help(self) -> None:
        """Show the keys and the panels."""
        focused = self.focused
        name = focused.NAME if isinstance(focused, Panel) else None
        self.push_screen(help_page(self.SHOWN_KEYS, self._keys, name))

    def action_filter(self) -> None:
        """Let the user type a filter."""
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    @on(Input.Submitted, "#filter")
    def take_filter(self, event: Input.Submitted) -> None:
        """Filter rows, or say what is wrong with the pattern."""
        try:
            chosen = Filter(event.value.strip())
        except re.error as error:
            self.notify(f"{event.value!r} is no regular expression: {error}", severity="error")
            return
        self._prefer(filter=chosen)
        self._close_filter()

    async def action_back(self) -> None:
        """Close the filter's line, end a maximised panel, or clear the filter."""
        box = self.query_one("#filter", Input)
        if box.display:
            self._close_filter()
        elif self.screen.maximized is not None:
            self.screen.minimize()
        elif self.preferences.filter.text:
            box.value = ""
            self._prefer(filter=Filter())
        elif self.host.history.is_reset:
            self.host.history.end_reset()
            self.redraw()
        elif len(self.hosts) > 1 and self.shown:
            self._show_tab(0)

    def _close_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = False
        self.screen.set_focus(None)

    def action_pause(self) -> None:
        """Stop showing news, or go on."""
        self.paused = not self.paused
        self.redraw()

    def action_faults(self) -> None:
        """Show only what is at fault, or all."""
        self._prefer(faults_only=not self.preferences.faults_only)

    def action_compact(self) -> None:
        """Show less of each panel, or all."""
        self._is_compact = not self.preferences.compact
        self._prefer(compact=self._is_compact)

    def action_sort(self) -> None:
        """Sort the table with the focus, else all."""
        for table in self._tables():
            table.next_sort()

    def action_reverse(self) -> None:
        """Turn the order around of the table with the focus, else of all."""
        for table in self._tables():
            table.toggle_reverse()

    def action_reset(self) -> None:
        """Count from now on, until Esc."""
        self.host.history.reset()
        self.redraw()

    def action_maximise(self) -> None:
        """Give the panel with the focus the whole screen, or take it back."""
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif isinstance(self.focused, Panel):
            self.screen.maximize(self.focused)
        else:
            self.notify("Tab to a panel first", timeout=3)
        self.call_after_refresh(self.redraw)

    def action_step(self, step: int) -> None:
        """Give the focus to the panel before or after the one that has it."""
        if step > 0:
            self.screen.focus_next(Panel)
        else:
            self.screen.focus_previous(Panel)

    def action_scroll(self, lines: int) -> None:
        """Show what is above or below, where the focus is on no row."""
        if self._grid is not None and not isinstance(self.focused, TablePanel):
            self._grid.scroll_relative(y=lines, animate=False)

    def action_panel(self, name: str) -> None:
        """Show or hide a panel."""
        self._hidden ^= {name}
        self.redraw()

    def action_slower(self) -> None:
        """Read less often."""
        self._set_interval(next((one for one in INTERVALS_S if one > self.interval_s), None))

    def action_faster(self) -> None:
        """Read more often."""
        self._set_interval(
            next((one for one in reversed(INTERVALS_S) if one < self.interval_s), None)
        )

    def action_read(self) -> None:
        """Read now."""
        for poller in self._pollers:
            poller.wake()

    def action_theme(self) -> None:
        """The next theme."""
        index = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(index + 1) % len(THEMES)]

    def action_export(self) -> None:
        """Write what is known to a file in the working directory."""
        at = self._clock()
        known = [host.now for host in self.hosts if host.now is not None]
        gaps = [fleet.Unanswered(host.name, str(host.error)) for host in self.hosts if host.error]
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
        file = Path(f"pegaflow-top-{stamp}.json")
        try:
            file.write_text(json.dumps(fleet.document(at, known, gaps)) + "\n", encoding="utf-8")
        except OSError as error:
            self.notify(f"{file} cannot be written: {error.strerror}", severity="error")
        else:
            self.notify(f"wrote {file}")

    def action_evict(self) -> None:
        """Evict blocks, once the user has typed what of."""
        host = self.host
        operator = self._operators.get(host.name)
        if operator is None or host.now is None or self.shown == 0:
            why = "choose a daemon first" if self.shown == 0 else "changes need --allow-actions"
            self.notify(why, severity="warning")
            return

        def start(chosen: tuple[Target, dict[str, Any]] | None) -> None:
            if chosen is not None:
                self._evict(operator, *chosen)

        found = evicting.targets(host.now, self.focused)
        self.push_screen(Confirmation(host.name, found), start)

    @work(thread=True)
    def _evict(self, operator: Operator, target: Target, fields: dict[str, Any]) -> None:
        try:
            result = operator.do(target.operation, fields)
        except PegaflowError as error:
            self.call_from_thread(self.notify, str(error), severity="error", timeout=30)
        else:
            self.call_from_thread(self.notify, evicting.sentence(target, result), timeout=30)

    def action_host(self, step: int) -> None:
        """The next daemon, or the one before."""
        if len(self.hosts) > 1:
            self._show_tab((self.shown + step) % (len(self.hosts) + 1))

    @on(TablePanel.Opened)
    def open_row(self, event: TablePanel.Opened) -> None:
        """Show all of a row; of the fleet's daemons, the daemon itself."""
        names = [host.name for host in self.hosts]
        if self.shown == 0 and event.title in names:
            self._show_tab(names.index(event.title) + 1)
        else:
            self.push_screen(facts_page(event.title, event.facts))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every key's command, and every daemon, for the palette."""
        for binding in (*self.SHOWN_KEYS, *PANEL_KEYS):
            if binding.action != "command_palette":
                action = binding.action
                yield SystemCommand(
                    binding.description,
                    f"key {binding.key_display or binding.key}",
                    self._runner(action),
                )
        for index, host in enumerate(self.hosts, start=1):
            yield SystemCommand(f"go to {host.name}", "show this daemon", self._tab_opener(index))

    def _runner(self, action: str) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.run_action, action)

        return run

    def _tab_opener(self, index: int) -> Callable[[], None]:
        return lambda: self._show_tab(index)

    def _tables(self) -> list[TablePanel[object]]:
        focused = self.focused
        if isinstance(focused, TablePanel):
            return [focused]
        return [table for table in self.query(TablePanel) if table.display]

    def _prefer(self, **changes: object) -> None:
        self.preferences = dataclasses.replace(self.preferences, **changes)  # type: ignore[arg-type]
        self.redraw()

    def _show_tab(self, index: int) -> None:
        self.shown = index
        self.screen.minimize()
        self.redraw()

    def _set_interval(self, interval_s: float | None) -> None:
        if interval_s is None:
            return
        self.interval_s = interval_s
        for poller in self._pollers:
            poller.interval_s = interval_s
            poller.wake()
        self.redraw()
