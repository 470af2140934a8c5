"""What the demo measured, what it expects, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.engine.engine import Completion
from tests.engine.prompts import Prompt, full_block_tokens

WARM: Final[Mapping[str, str]] = {
    "after_kill": "the engine started after the kill",
    "second_engine": "the second engine",
    "after_daemon_kill": "the engine that saw the daemon killed",
}
"""Who was asked with all blocks cached: the key in documents, and words for people."""

PLACES: Final = ("memory", "ssd", "remote", "miss")
"""Where a block that is asked for can be."""


@dataclass(frozen=True)
class Row:
    """One prompt: its cold answer, and those of ``WARM``; None is a request that failed."""

    prompt: Prompt
    cold: Completion | None
    warm: Mapping[str, Completion | None]

    def is_same(self, who: str) -> bool:
        """Whether ``who`` gave the tokens of the cold engine."""
        other = self.warm[who]
        return self.cold is not None and other is not None and self.cold.tokens == other.tokens


@dataclass(frozen=True)
class DaemonKill:
    """The daemon's end and return. ``blocks_before`` are those that it had, all of them."""

    blocks_before: int
    blocks_after: int
    first_answer_s: float
    """From the end of its process."""
    attached_s: float
    """From then until the engines were attached again."""


@dataclass(frozen=True)
class Figures:
    """The whole run. ``errors`` are the sentences of failed requests."""

    rows: Sequence[Row]
    daemon_kill: DaemonKill
    asked: Mapping[str, int]
    """Blocks that the daemon was asked for after its kill, by place, from `pegaflow top`."""
    errors: Sequence[str]
    engine_kills: int
    seconds: float

    @property
    def full_block_tokens(self) -> int:
        """Tokens in full blocks over all prompts: the most that caches can serve."""
        return sum(full_block_tokens(row.prompt) for row in self.rows)

    def answers(self, who: str) -> list[Completion | None]:
        """All answers of one of ``WARM``."""
        return [row.warm[who] for row in self.rows]

    def problems(self) -> Iterator[str]:
        """One sentence for each thing that differs from what must be."""
        yield from self.errors
        for who, name in WARM.items():
            for number, row in enumerate(self.rows, start=1):
                if not row.is_same(who):
                    yield f"prompt {number}: {name} gave other tokens"
            yield from self._hit_problems(name, self.answers(who))
        if self.daemon_kill.blocks_after != self.daemon_kill.blocks_before:
            yield (
                f"the daemon has {self.daemon_kill.blocks_after} blocks after its kill instead of "
                f"{self.daemon_kill.blocks_before}"
            )

        found = sum(self.asked[place] for place in PLACES)
        if not 0 < found == self.asked["requested"]:
            yield f"pegaflow top: places have {found} blocks of {self.asked['requested']} asked for"

    def _hit_problems(self, name: str, answers: Sequence[Completion | None]) -> Iterator[str]:
        first = external_tokens(answers[:1])
        expected = full_block_tokens(self.rows[0].prompt)
        if first != expected:
            yield f"{name}: {first} external tokens for the first prompt instead of {expected}"
        total = external_tokens(answers) + local_tokens(answers)
        if total != self.full_block_tokens:
            yield f"{name}: {total} tokens from caches instead of {self.full_block_tokens}"

    def document(self) -> dict[str, Any]:
        """The JSON line."""
        after_kill, second_engine, after_daemon_kill = (self._summary(who) for who in WARM)
        kill = self.daemon_kill
        return {
            "prompts": len(self.rows),
            "same_tokens": after_kill["same_tokens"],
            "errors": len(self.errors),
            "engine_kills": self.engine_kills,
            "external_tokens": after_kill["external_tokens"],
            "local_tokens": after_kill["local_tokens"],
            "full_block_tokens": self.full_block_tokens,
            "second_engine": second_engine,
            "daemon_kills": 1,
            "after_daemon_kill": {
                **after_daemon_kill,
                "blocks_before": kill.blocks_before,
                "blocks_after": kill.blocks_after,
                "first_answer_s": round(kill.first_answer_s, 3),
                "attached_s": round(kill.attached_s, 3),
            },
            "top": dict(self.asked),
            "per_prompt": [_prompt_document(row) for row in self.rows],
            "problems": list(self.problems()),
            "seconds": round(self.seconds, 1),
        }

    def _summary(self, who: str) -> dict[str, int]:
        answers = self.answers(who)
        return {
            "same_tokens": sum(row.is_same(who) for row in self.rows),
            "external_tokens": external_tokens(answers),
            "local_tokens": local_tokens(answers),
        }


def external_tokens(answers: Sequence[Completion | None]) -> int:
    """Tokens that came through the connector."""
    return sum(answer.hits.external for answer in answers if answer)


def local_tokens(answers: Sequence[Completion | None]) -> int:
    """Tokens that came from vLLM's own prefix cache."""
    return sum(answer.hits.local for answer in answers if answer)


def _prompt_document(row: Row) -> dict[str, Any]:
    return {
        "tokens": len(row.prompt),
        "full_block_tokens": full_block_tokens(row.prompt),
        "cold": completion_document(row.cold),
        **{who: completion_document(answer) for who, answer in row.warm.items()},
    }


def completion_document(completion: Completion | None) -> dict[str, Any] | None:
    """The part of the JSON line that one answer makes."""
    if completion is None:
        return None
    return {
        "external_tokens": completion.hits.external,
        "local_tokens": completion.hits.local,
        "ttft_ms": round(1000 * completion.first_token_s, 1),
    }
