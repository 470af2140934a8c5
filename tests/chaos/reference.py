"""The cold reference: what an engine without connector answers, and how far its runs differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.mix import Question, first_turns, second_turns
from tests.engine.stepped_engine import Answer, SteppedEngine
from tests.engine.vllm_install import VllmInstall

LEAST_NOISE: Final = 1e-6
"""Below what float32 log-probabilities resolve."""

_MARGIN: Final = 8.0
"""The largest noise of a sample is not the largest there is."""


@dataclass(frozen=True)
class Reference:
    """The questions of a run with their answers, computed without any cache."""

    questions: Sequence[Question]
    answers: Sequence[Answer]
    noise: float
    """How far the two best log-probabilities of a position moved between runs, at most."""

    @property
    def least_gap(self) -> float:
        """Positions whose two best tokens are further apart must not differ."""
        return _MARGIN * self.noise


def compute_reference(
    install: VllmInstall, model: Path, seed: int, log: Path, step_tokens: int
) -> Reference:
    """Ask every question alone, then again on vLLM's own prefix cache, then all at once."""
    with SteppedEngine(
        install, model, log.parent / "unused.sock", log, None, max_num_batched_tokens=step_tokens
    ) as engine:

        def alone(question: Question) -> Answer:
            return engine.generate(question.prompt, question.generate)

        first = first_turns(seed)
        answers = [alone(question) for question in first]
        second = second_turns(seed, first, [answer.tokens for answer in answers])
        engine.reset()
        answers += [alone(question) for question in second]
        questions = first + second
        again = [alone(question) for question in questions]
        engine.reset()
        requests = [engine.add(question.prompt, question.generate) for question in questions]
        together: Mapping[str, Answer] = engine.drain()
    runs = [again, [together[request] for request in requests]]
    noise = max(
        noise_between(cold, other) for run in runs for cold, other in zip(answers, run, strict=True)
    )
    return Reference(questions, answers, max(LEAST_NOISE, noise))


def noise_between(cold: Answer, other: Answer) -> float:
    """How far the gaps of two answers are apart, as far as both chose the same tokens.

    Where they did not, the noise was at least the gap that it closed.
    """
    noise = 0.0
    for position, gap in enumerate(cold.gaps):
        if cold.tokens[position] != other.tokens[position]:
            return max(noise, gap)
        noise = max(noise, abs(gap - other.gaps[position]))
    return noise
