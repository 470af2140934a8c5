"""What a run came to, and its JSON line."""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.chaos.judge import Judge
from tests.chaos.recovery import Recoveries
from tests.chaos.replay import Replay
from tests.chaos.resources import Growth

_ENGINE_COUNTERS: Final[Mapping[str, str]] = {
    "preemptions": "vllm:num_preemptions_total",
    "external_tokens": "vllm:external_prefix_cache_hits_total",
    "local_tokens": "vllm:prefix_cache_hits_total",
    "loads": "vllm:pega_load_success_total",
    "failed_loads": "vllm:pega_load_failure_total",
    "saves": "vllm:pega_save_success_total",
    "failed_saves": "vllm:pega_save_failure_total",
}


@dataclass(frozen=True)
class Figures:
    """The whole run."""

    minutes: float
    seed: int
    judge: Judge
    faults: Counter[str]
    engines: Counter[str]
    """vLLM's counters over all engines that there were."""
    recoveries: Recoveries
    replay: Replay
    growth: Sequence[Growth]
    left: Sequence[str]
    """A sentence for each thing that was held for nothing, or left behind."""

    @property
    def leaks(self) -> list[str]:
        """All that must not be there: what is left, and what grew."""
        grown = [f"{more.what}: {more.amount} more" for more in self.growth if more.is_leak()]
        return [*self.left, *grown]

    def problems(self) -> Iterator[str]:
        """A sentence for each thing that must not be."""
        yield from (f"wrong: {sentence}" for sentence in self.judge.wrong)
        yield from (f"failed: {sentence}" for sentence in self.judge.failed)
        yield from (f"leaked: {sentence}" for sentence in self.leaks)
        yield from (f"not back: {sentence}" for sentence in self.recoveries.missing)
        if replay := self.replay.problem():
            yield f"lost: {replay}"

    def lines(self) -> Iterator[str]:
        """What people want to know of it."""
        counts, done = (
            self.judge.counts,
            ", ".join(
                f"{count} {name.replace('_', ' ')}" for name, count in sorted(self.faults.items())
            ),
        )
        yield f"seed {self.seed}, {self.minutes:g} minutes: {done}"
        yield (
            f"{counts['requests']} requests: {counts['answered']} answered, {counts['left']} left "
            f"by their clients, {counts['lost_with_their_engine']} lost with their engine, "
            f"{len(self.judge.failed)} failed"
        )
        yield (
            f"{counts['positions']} tokens compared, {counts['positions_above_noise']} of them at "
            f"positions above the noise: {len(self.judge.wrong)} wrong"
        )
        for what, seconds in {
            "a killed daemon's successor answered": self.recoveries.first_answers,
            "the engines were attached again": self.recoveries.attached,
        }.items():
            if spread := _spread(seconds):
                yield f"{what} after {spread['median']} s (median), {spread['most']} s (most)"
        yield f"hit rate {self.replay.before:.1%} before a kill, {self.replay.after:.1%} after it"
        yield f"{len(self.leaks)} things leaked"

    def document(self) -> dict[str, Any]:
        """The JSON line."""
        counts, reference = self.judge.counts, self.judge.reference
        return {
            "seed": self.seed,
            "minutes": self.minutes,
            "requests": counts["requests"],
            "answered": counts["answered"],
            "left": counts["left"],
            "lost_with_their_engine": counts["lost_with_their_engine"],
            "positions": counts["positions"],
            "positions_above_noise": counts["positions_above_noise"],
            "noise": reference.noise,
            "least_gap": reference.least_gap,
            **{name: self.engines[counter] for name, counter in _ENGINE_COUNTERS.items()},
            **dict(sorted(self.faults.items())),
            "recovery": {
                "daemon_first_answer_s": _spread(self.recoveries.first_answers),
                "engines_attached_s": _spread(self.recoveries.attached),
                "replay_first_answer_s": round(self.replay.first_answer_s, 3),
                "replay_attached_s": round(self.replay.attached_s, 3),
                "hit_rate_before": round(self.replay.before, 4),
                "hit_rate_after": round(self.replay.after, 4),
            },
            "growth": {more.what: more.amount for more in self.growth},
            "problems": list(self.problems()),
            "wrong": len(self.judge.wrong),
            "failed": len(self.judge.failed),
            "leaked": len(self.leaks),
        }


def _spread(seconds: Sequence[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    return {
        "count": len(seconds),
        "median": round(statistics.median(seconds), 3),
        "most": round(max(seconds), 3),
    }
