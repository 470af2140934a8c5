"""The dashboard over a recording instead of daemons."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from textual.binding import Binding, BindingType

from pegaflow.observe.player import Player
from pegaflow.observe.rows import iso_time
from pegaflow.observe.sample import Sample
from pegaflow.tui.app import TopApp
from pegaflow.tui.host import Host
from pegaflow.tui.keys import KEYS
from pegaflow.tui.line import Line, styled
from pegaflow.tui.silent import SilentSource
from pegaflow.units import format_duration

TICK_S: Final = 0.25
"""How often what came meanwhile is shown."""

_KEYS: Final = (
    Binding("left", "seek(-10)", "10 s back", priority=True, id="back-10"),
    Binding("right", "seek(10)", "10 s on", priority=True, id="on-10"),
    Binding("shift+left", "seek(-300)", "5 minutes back", priority=True, id="back-300"),
    Binding("shift+right", "seek(300)", "5 minutes on", priority=True, id="on-300"),
    Binding("home", "seek(-1e9)", "to the begin", priority=True, id="begin"),
    Binding("end", "seek(1e9)", "to the end", priority=True, id="end"),
    Binding("greater_than_sign", "speed(1)", "play faster", key_display=">", id="speed-up"),
    Binding("less_than_sign", "speed(-1)", "play slower", key_display="<", id="slow-down"),
)
_NOT_HERE: Final = frozenset({"slower", "faster", "read", "evict", "step"})
"""Actions on daemons themselves, and those whose keys do something else here."""


class ReplayApp(TopApp):
    """Plays a recording; seconds go by as fast as the user wants."""

    TITLE = "pegaflow top --replay"
    BINDINGS: ClassVar[list[BindingType]] = [*_KEYS]
    SHOWN_KEYS = (
        *(key for key in KEYS if key.action.partition("(")[0] not in _NOT_HERE),
        *_KEYS,
    )

    def __init__(self, player: Player, *, ticks: bool = True, **options: Any) -> None:
        sources = [SilentSource(host) for host in player.hosts]
        super().__init__(sources, clock=lambda: player.at, polls=False, **options)
        self.player = player
        self._ticks = ticks

    def on_mount(self) -> None:
        """Show the first samples, then go on."""
        super().on_mount()
        self._take(self.player.forward(0.0))
        if self._ticks:
            self.set_interval(TICK_S, self.play)

    def play(self) -> None:
        """Show what came since the last tick."""
        self._take(self.player.forward(TICK_S))

    def action_pause(self) -> None:
        """Stand still, or go on."""
        self.player.playing = not self.player.playing
        super().action_pause()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is read here."""
        return action not in _NOT_HERE and super().check_action(action, parameters)

    def action_seek(self, seconds: float) -> None:
        """Go on or back."""
        self._start_again(self.player.at + seconds)

    def action_speed(self, step: int) -> None:
        """Go faster or slower."""
        self.player.faster(step)
        self.redraw()

    def _start_again(self, at: float) -> None:
        for host in self.hosts:
            host.forget()
        self._take(self.player.seek(at))

    def _take(self, samples: Iterable[Sample]) -> None:
        hosts: dict[str, Host] = {host.name: host for host in self.hosts}
        for sample in samples:
            hosts[sample.host].receive(sample)
        self.redraw()

    def cost_line(self) -> Line:
        """Where the recording is, in place of what reading costs."""
        player = self.player
        done, whole = player.at - player.first, player.last - player.first
        text = f"REPLAY {iso_time(player.at)[:19]}Z, {format_duration(done)} of "
        text += f"{format_duration(whole)}, x{player.speed:g}"
        return styled(text, "bold $warning")
