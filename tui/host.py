"""What the dashboard knows of one daemon."""

from collections.abc import Mapping

from pegaflow.errors import PegaflowError
from pegaflow.observe.history import History
from pegaflow.observe.sample import Sample
from pegaflow.observe.snapshot import Snapshot
from pegaflow.observe.thresholds import Level, Threshold
from pegaflow.tui.view import Preferences, View


class Host:
    """A daemon: its samples so far, and why there is no newer one."""

    def __init__(self, name: str, thresholds: Mapping[str, Threshold]) -> None:
        self.name = name
        self.history = History(thresholds)
        self.error: PegaflowError | None = None
        """Why the newest reading failed; None: it did not."""
        self.tried = False
        """Whether there was a reading, good or bad."""

    @property
    def now(self) -> Snapshot | None:
        """The newest snapshot, however old it is."""
        return self.history.now

    @property
    def level(self) -> Level:
        """How the daemon does; one that was not asked yet does well."""
        if self.error is not None:
            return "critical"
        alerts = self.now.alerts if self.now else ()
        return next((one.level for one in alerts), "ok")

    def receive(self, result: Sample | PegaflowError) -> None:
        """Take a reading's result."""
        self.tried = True
        if isinstance(result, Sample):
            self.error = None
            self.history.add(result)
        else:
            self.error = result

    def forget(self) -> None:
        """Know nothing again."""
        self.history = History(self.history.thresholds)

    def age_s(self, at: float) -> float | None:
        """The age of what is shown; None for nothing."""
        return None if self.now is None else max(at - self.now.at, 0.0)

    def view(self, preferences: Preferences) -> View | None:
        """What panels draw; None before the first sample."""
        if self.now is None:
            return None
        return View(
            now=self.now,
            counted=self.history.since_reset or self.now,
            recent=tuple(self.history.points),
            events=tuple(self.history.events),
            preferences=preferences,
        )
