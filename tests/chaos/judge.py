"""Compares every answer with the cold reference, and counts what became of the requests."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.reference import Reference

ANSWER_S: Final = 60.0
"""A request without an answer after this has failed."""


@dataclass(frozen=True)
class Ending:
    """What became of one request."""

    question: int
    tokens: Sequence[int]
    """As far as they came."""
    seconds: float
    """Without the time in which its engine was stopped."""
    left: bool
    """The client went away by itself."""
    engine_was_killed: bool
    error: str | None


@dataclass
class Judge:
    """Takes the ends of requests, from any thread."""

    reference: Reference
    counts: Counter[str] = field(default_factory=Counter)
    """Requests by what became of them, and positions by whether they could be compared."""
    wrong: list[str] = field(default_factory=list)
    """A sentence for each answer with a wrong token."""
    failed: list[str] = field(default_factory=list)
    """A sentence for each request that failed."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, ending: Ending) -> None:
        """Judge one request; what came of its answer is compared whatever became of it."""
        with self._lock:
            self.counts["requests"] += 1
            self._compare(ending)
            self._classify(ending)

    def _classify(self, ending: Ending) -> None:
        question = self.reference.questions[ending.question]
        if ending.error is not None and ending.engine_was_killed:
            self.counts["lost_with_their_engine"] += 1
        elif ending.error is not None:
            self._fail(ending, ending.error)
        elif ending.left:
            self.counts["left"] += 1
        elif len(ending.tokens) != question.generate:
            self._fail(ending, f"{len(ending.tokens)} tokens instead of {question.generate}")
        elif ending.seconds > ANSWER_S:
            self._fail(ending, f"it was answered after {ending.seconds:.1f} s")
        else:
            self.counts["answered"] += 1

    def _fail(self, ending: Ending, why: str) -> None:
        self.failed.append(f"question {ending.question}, {ending.seconds:.1f} s: {why}")

    def _compare(self, ending: Ending) -> None:
        cold = self.reference.answers[ending.question]
        for position, found in enumerate(ending.tokens[: len(cold.tokens)]):
            self.counts["positions"] += 1
            is_same = found == cold.tokens[position]
            if cold.gaps[position] > self.reference.least_gap:
                self.counts["positions_above_noise"] += 1
                if not is_same:
                    self.wrong.append(
                        f"question {ending.question}: token {found} instead of "
                        f"{cold.tokens[position]} at position {position}, whose two best are "
                        f"{cold.gaps[position]:.1e} apart"
                    )
            if not is_same:
                # What follows another token cannot be compared.
                return
