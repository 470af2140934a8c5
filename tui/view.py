"""What panels draw: one daemon's state and how the user wants to see it."""

import re
from dataclasses import dataclass, field
from functools import cached_property

from pegaflow.observe.events import Event
from pegaflow.observe.history import Point
from pegaflow.observe.snapshot import Alert, Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.tui.glyphs import UNICODE, Glyphs


@dataclass(frozen=True)
class Filter:
    """Rows that are shown: those that ``pattern`` is found in, or with ``!`` the others."""

    text: str = ""

    def __post_init__(self) -> None:
        """Raises ``re.error`` for a pattern that is none."""
        re.compile(self.text.removeprefix("!"))

    def admits(self, row: str) -> bool:
        """Whether a row is shown."""
        pattern = self.text.removeprefix("!")
        if not pattern:
            return True
        return bool(re.search(pattern, row, re.IGNORECASE)) != self.text.startswith("!")


@dataclass(frozen=True)
class Preferences:
    """How the user wants to see it."""

    glyphs: Glyphs = UNICODE
    filter: Filter = field(default_factory=Filter)
    faults_only: bool = False
    compact: bool = False
    paused: bool = False
    hidden: frozenset[str] = frozenset()
    """Panels that are not shown."""

    def modes(self, *, is_reset: bool) -> tuple[str, ...]:
        """What is left out, and the keys that end that."""
        modes = {
            "PAUSED, p goes on": self.paused,
            "FAULTS ONLY, z shows all": self.faults_only,
            f"FILTER {self.filter.text}, Esc clears": bool(self.filter.text),
            "SINCE R, Esc ends": is_reset,
        }
        return tuple(mode for mode, is_on in modes.items() if is_on)


@dataclass(frozen=True)
class View:
    """One daemon now."""

    now: Snapshot
    """Over the time since the sample before."""
    counted: Snapshot
    """Over the time since the user's reset, or the same as ``now``."""
    recent: tuple[Point, ...]
    events: tuple[Event, ...]
    preferences: Preferences = Preferences()

    def alerts(self, panel: str) -> list[Alert]:
        """What is worth a look in one panel."""
        return [alert for alert in self.now.alerts if alert.panel == panel]

    def level(self, panel: str) -> Level:
        """The worst of one panel."""
        return next((alert.level for alert in self.alerts(panel)), "ok")

    @cached_property
    def restarts(self) -> frozenset[int]:
        """Indexes in ``recent`` where the daemon began anew."""
        return frozenset(index for index, point in enumerate(self.recent) if point.restarted)

    @property
    def window(self) -> str:
        """What counts are over, for a title."""
        window = self.counted.window
        if window.since_start:
            return "since start"
        return f"{'since R, ' if self.counted is not self.now else ''}{window.seconds:.3g} s"
