"""The dashboard: wiring between pollers, hosts, the screen and keys."""

import dataclasses
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from textual import on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from pegaflow.errors import PegaflowError
from pegaflow.observe.operator import Operator
from pegaflow.observe.sample import Sample
from pegaflow.observe.settings import THEMES, checked_theme
from pegaflow.observe.source import Source
from pegaflow.observe.thresholds import DEFAULTS, Threshold
from pegaflow.tui import bars, evicting, palette
from pegaflow.tui.export import export
from pegaflow.tui.glyphs import ASCII, UNICODE
from pegaflow.tui.grid import PanelGrid
from pegaflow.tui.host import Host
from pegaflow.tui.keys import KEYS, PANEL_KEYS, checked_keymap
from pegaflow.tui.line import Line
from pegaflow.tui.own_cost import OwnCost
from pegaflow.tui.panels import Panel, TablePanel
from pegaflow.tui.poller import Poller, Pollers
from pegaflow.tui.screens.dashboard import Dashboard, Sight
from pegaflow.tui.screens.help import help_page
from pegaflow.tui.screens.page import facts_page
from pegaflow.tui.view import Filter, Preferences

_LOW: Final = 30
"""Below so many lines less is shown of each panel, so that there are more of them."""


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
        self.hosts = [Host(source.host, thresholds) for source in sources]
        self.preferences = Preferences(glyphs=ASCII if ascii_only else UNICODE)
        self.shown = 0 if len(sources) > 1 else 1
        """The tab: 0 for the fleet, then the daemons."""
        self._dashboard = Dashboard(self.hosts)
        self._operators = dict(operators or {})
        self._is_compact: bool | None = None
        """What the user wants; None: as the terminal has room."""
        self._keys = checked_keymap(keymap or {}, (*self.SHOWN_KEYS, *PANEL_KEYS))
        self._first_theme = checked_theme(theme or THEMES[0])
        self._clock = clock
        self._polls = polls
        self._own_cost = OwnCost()
        pollers = [
            Poller(source, interval_s, self._poster(host))
            for source, host in zip(sources, self.hosts, strict=True)
        ]
        self.pollers = Pollers(pollers, interval_s)

    @property
    def host(self) -> Host:
        """The daemon that is shown; the first one for the fleet."""
        return self._dashboard.host(self.shown)

    def get_default_screen(self) -> Screen[None]:
        """The bars and panels."""
        return self._dashboard

    def on_mount(self) -> None:
        """Start to read."""
        self.theme = self._first_theme
        self.set_keymap(self._keys)
        self.redraw()
        if self._polls:
            self.set_interval(1.0, self._tick)
            self.pollers.start()

    def on_unmount(self) -> None:
        """Read no more."""
        self.pollers.stop()

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
        is_seen = self.shown == 0 or message.host is self.host
        if is_seen and not self.preferences.paused:
            self.redraw()

    def redraw(self) -> None:
        """Show what is known now."""
        self._dashboard.show(self._sight())

    def cost_line(self) -> Line:
        """How often daemons are read, and what that costs."""
        return bars.cost(self.pollers.interval_s, self._own_cost.share)

    def _sight(self) -> Sight:
        interval_s = self.pollers.interval_s
        return Sight(self._clock(), self.shown, self.preferences, self.cost_line(), interval_s)

    def _tick(self) -> None:
        """Ages grow, also of what is paused or does not come."""
        self._own_cost.measure()
        if self.preferences.paused or any(host.error for host in self.hosts):
            self._dashboard.show_bars(self._sight())

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
        self._dashboard.open_filter()

    @on(Input.Submitted, "#filter")
    def take_filter(self, event: Input.Submitted) -> None:
        """Filter rows, or say what is wrong with the pattern."""
        try:
            chosen = Filter(event.value.strip())
        except re.error as error:
            self.notify(f"{event.value!r} is no regular expression: {error}", severity="error")
            return
        self._prefer(filter=chosen)
        self._dashboard.close_filter()

    async def action_back(self) -> None:
        """Close the filter's line, end a maximised panel, or clear the filter."""
        dashboard = self._dashboard
        if dashboard.is_filter_open:
            dashboard.close_filter()
        elif dashboard.maximized is not None:
            dashboard.minimize()
        elif self.preferences.filter.text:
            dashboard.clear_filter()
            self._prefer(filter=Filter())
        elif self.host.history.is_reset:
            self.host.history.end_reset()
            self.redraw()
        elif len(self.hosts) > 1 and self.shown:
            self._show_tab(0)

    def action_pause(self) -> None:
        """Stop showing news, or go on."""
        self._prefer(paused=not self.preferences.paused)

    def action_faults(self) -> None:
        """Show only what is at fault, or all."""
        self._prefer(faults_only=not self.preferences.faults_only)

    def action_compact(self) -> None:
        """Show less of each panel, or all."""
        self._is_compact = not self.preferences.compact
        self._prefer(compact=self._is_compact)

    def action_panel(self, name: str) -> None:
        """Show or hide a panel."""
        self._prefer(hidden=self.preferences.hidden ^ {name})

    def action_sort(self) -> None:
        """Sort the table with the focus, else all."""
        for table in self._dashboard.tables():
            table.next_sort()

    def action_reverse(self) -> None:
        """Turn the order around of the table with the focus, else of all."""
        for table in self._dashboard.tables():
            table.toggle_reverse()

    def action_reset(self) -> None:
        """Count from now on, until Esc."""
        self.host.history.reset()
        self.redraw()

    def action_maximise(self) -> None:
        """Give the panel with the focus the whole screen, or take it back."""
        dashboard = self._dashboard
        if dashboard.maximized is not None:
            dashboard.minimize()
        elif isinstance(dashboard.focused, Panel):
            dashboard.maximize(dashboard.focused)
        else:
            self.notify("Tab to a panel first", timeout=3)
        self.call_after_refresh(self.redraw)

    def action_step(self, step: int) -> None:
        """Give the focus to the panel before or after the one that has it."""
        if step > 0:
            self._dashboard.focus_next(Panel)
        else:
            self._dashboard.focus_previous(Panel)

    def action_scroll(self, lines: int) -> None:
        """Show what is above or below, where the focus is on no row."""
        self._dashboard.scroll_panels(lines)

    def action_slower(self) -> None:
        """Read less often."""
        self.pollers.slower()
        self.redraw()

    def action_faster(self) -> None:
        """Read more often."""
        self.pollers.faster()
        self.redraw()

    def action_read(self) -> None:
        """Read now."""
        self.pollers.wake()

    def action_theme(self) -> None:
        """The next theme."""
        index = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(index + 1) % len(THEMES)]

    def action_export(self) -> None:
        """Write what is known to a file in the working directory."""
        try:
            self.notify(f"wrote {export(self.hosts, self._clock())}")
        except PegaflowError as error:
            self.notify(str(error), severity="error")

    def action_evict(self) -> None:
        """Evict blocks, once the user has typed what of."""
        host = self.host
        operator = self._operators.get(host.name)
        if operator is None or host.now is None or self.shown == 0:
            why = "choose a daemon first" if self.shown == 0 else "changes need --allow-actions"
            self.notify(why, severity="warning")
        else:
            evicting.ask(self, host.name, host.now, operator)

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
        keys = (*self.SHOWN_KEYS, *PANEL_KEYS)
        return palette.commands(keys, self.hosts, self._run, self._show_tab)

    def _run(self, action: str) -> None:
        self.call_later(self.run_action, action)

    def _prefer(self, **changes: object) -> None:
        self.preferences = dataclasses.replace(self.preferences, **changes)  # type: ignore[arg-type]
        self.redraw()

    def _show_tab(self, index: int) -> None:
        self.shown = index
        self._dashboard.minimize()
        self.redraw()
