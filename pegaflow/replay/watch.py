"""What is said while a replay runs, and when it has waited for the daemon too long."""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from pegaflow.errors import Unreachable
from pegaflow.replay.report import Tally
from pegaflow.units import format_count, format_duration

_LOOK_S: Final = 0.1
_SAY_S: Final = 5.0
_SILENCE_S: Final = 2.0
"""An answer that takes longer is worth a word."""


class Watched(Protocol):
    """An engine of a replay."""

    tally: Tally

    def waited_s(self) -> float:
        """How long it has been waiting for an answer of the daemon."""

    def is_attached(self) -> bool:
        """Whether there is a daemon that it can ask."""


class Watch:
    """Looks at the engines of a replay, and tells people how it is."""

    def __init__(
        self, engines: Sequence[Watched], patience_s: float, say: Callable[[str], None]
    ) -> None:
        self._engines = engines
        self._patience_s = patience_s
        self._say = say
        self._began = time.monotonic()
        self._next_look = self._began
        self._next_word = self._began + _SAY_S
        self._silence_s = 0.0

    def look(self) -> None:
        """Say what there is to say; seldom does anything, however often it is called.

        Raises ``Unreachable`` when an engine has waited for the daemon for too long.
        """
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        waited_s = max(engine.waited_s() for engine in self._engines)
        if waited_s >= self._patience_s:
            raise Unreachable(
                f"{self._what()} for {_in_words(waited_s)}: the replay ends before the "
                "trace; --patience has it wait longer"
            )
        if waited_s >= _SILENCE_S:
            if not self._silence_s or now >= self._next_word:
                self._next_word = now + _SAY_S
                self._say(
                    f"{self._what()} for {_in_words(waited_s)}; requests wait for it, "
                    f"{_in_words(self._patience_s)} at most"
                )
            self._silence_s = waited_s
        elif self._silence_s:
            self._say(f"the daemon answers again, after {_in_words(self._silence_s)}")
            self._silence_s = 0.0
            self._next_word = now + _SAY_S
        elif now >= self._next_word:
            self._next_word = now + _SAY_S
            self._say(self._progress(now))

    def _what(self) -> str:
        if any(engine.is_attached() for engine in self._engines):
            return "the daemon has not answered"
        return "no daemon has answered"

    def _progress(self, now: float) -> str:
        tallies = [engine.tally for engine in self._engines]
        served = sum(tally.requests for tally in tallies)
        failed = sum(len(tally.failures) for tally in tallies)
        unanswered = sum(tally.unanswered for tally in tallies)
        wrong = sum(tally.wrong_blocks for tally in tallies)
        return (
            f"{format_count(served, 'request')} in {_in_words(now - self._began)}, "
            f"{failed:,} failed, {unanswered:,} unanswered, {format_count(wrong, 'block')} wrong"
        )


def _in_words(seconds: float) -> str:
    return format_duration(round(seconds))
