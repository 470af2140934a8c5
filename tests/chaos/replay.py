"""Hit rates of the same prompts before and after a kill of the daemon."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.judge import Ending, Judge
from tests.chaos.mix import Question
from tests.chaos.place import EnginePlace
from tests.chaos.recovery import Recoveries, attached_places, measure_attaching
from tests.engine.daemon import DaemonProcess
from tests.engine.pool_file import all_have_checksums
from tests.engine.prompts import full_block_tokens
from tests.engine.waiting import wait_until

_PROMPTS: Final = 12
_CHECKSUMS_S: Final = 30.0
_LOST: Final = 0.01
"""The share of hits that a kill of the daemon may cost."""


@dataclass(frozen=True)
class Replay:
    """Shares of the prompts' full blocks that came from the daemon."""

    before: float
    after: float
    first_answer_s: float
    attached_s: float

    def problem(self) -> str | None:
        """What is wrong with it, if anything is."""
        if self.before > 0 and self.after >= self.before - _LOST:
            return None
        return f"hit rate {self.after:.1%} after the daemon's kill, {self.before:.1%} before"


def replay_over_a_kill(daemon: DaemonProcess, place: EnginePlace, judge: Judge) -> Replay:
    """Ask, ask again, kill the daemon, and ask the same once more."""
    numbered = list(enumerate(judge.reference.questions))[:_PROMPTS]
    _hit_rate(place, judge, numbered)
    before = _hit_rate(place, judge, numbered)
    pool = Path(daemon.status()["pool"]["path"])
    wait_until(lambda: all_have_checksums(pool), "all pages have their checksums", _CHECKSUMS_S)
    recoveries = Recoveries()
    witnesses = attached_places(daemon, [place])
    assert witnesses, "the engine is not attached"
    daemon.kill()
    first_answer_s = daemon.launch()
    measure_attaching(daemon, witnesses, recoveries)
    assert not recoveries.missing, recoveries.missing
    after = _hit_rate(place, judge, numbered)
    return Replay(before, after, first_answer_s, recoveries.attached[0])


def _hit_rate(place: EnginePlace, judge: Judge, numbered: Sequence[tuple[int, Question]]) -> float:
    loaded = 0
    for number, question in numbered:
        place.engine.reset()
        answer = place.engine.complete(question.prompt, question.generate)
        judge.take(Ending(number, answer.tokens, 0.0, False, False, None))
        loaded += answer.hits.external
    return loaded / sum(full_block_tokens(question.prompt) for _, question in numbered)
