"""How long everything takes to be back after the daemon's end."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.place import EnginePlace
from tests.engine.daemon import DaemonProcess

_POLL_S: Final = 0.02
_GIVE_UP_S: Final = 45.0
"""Far beyond the contract's 3 s: a busy machine is no fault of an engine."""


@dataclass
class Recoveries:
    """What was measured, in seconds, and what did not come back."""

    first_answers: list[float] = field(default_factory=list)
    """From the end of a daemon's process to an answer of the next one."""
    attached: list[float] = field(default_factory=list)
    """From that answer to all engines being attached that were before."""
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Witness:
    """An engine that was attached, and what had been done to it then."""

    place: EnginePlace
    kills: int
    paused_s: float

    def is_undisturbed(self) -> bool:
        """Whether it is neither being killed nor was killed or stopped since."""
        now = Witness(self.place, self.place.kills, self.place.paused_s())
        return self.place.is_serving() and now == self


def attached_places(daemon: DaemonProcess, places: Iterable[EnginePlace]) -> list[Witness]:
    """The engines that the daemon, which answers, has whole."""
    witnesses = [Witness(place, place.kills, place.paused_s()) for place in places]
    engines = daemon.patient_status()["engines"]
    whole = {engine["scheduler_pid"] for engine in engines if engine["complete"]}
    return [
        witness for witness in witnesses if witness.place.pids & whole and witness.is_undisturbed()
    ]


def measure_attaching(
    daemon: DaemonProcess, witnesses: Sequence[Witness], recoveries: Recoveries
) -> float:
    """Wait for the engines; those that are killed or stopped meanwhile are not waited for.

    Returns the seconds that it waited.
    """
    began = time.monotonic()
    while True:
        waited_for = [witness for witness in witnesses if witness.is_undisturbed()]
        back = attached_places(daemon, [witness.place for witness in waited_for])
        seconds = time.monotonic() - began
        if len(back) == len(waited_for):
            if waited_for:
                recoveries.attached.append(seconds)
            return seconds
        if seconds > _GIVE_UP_S:
            numbers = {witness.place.number for witness in waited_for} - {
                witness.place.number for witness in back
            }
            recoveries.missing.append(
                f"engines {sorted(numbers)} are not attached {seconds:.0f} s after the daemon came"
            )
            return seconds
        time.sleep(_POLL_S)
