"""What the demo measured, what it expects, and what is wrong with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.engine.engine import Completion
from tests.engine.prompts import Prompt, full_block_tokens


@dataclass(frozen=True)
class Row:
    """One prompt, asked of three engines; None is a request that failed."""

    prompt: Prompt
    cold: Completion | None
    after_kill: Completion | None
    second: Completion | None

    @property
    def same_after_kill(self) -> bool:
        """Whether the new engine gave the tokens of the killed one."""
        return _same(self.cold, self.after_kill)

    @property
    def same_on_second(self) -> bool:
        """Whether the second engine gave them too."""
        return _same(self.cold, self.second)


@dataclass(frozen=True)
class Figures:
    """The whole run. ``errors`` are the sentences of failed requests."""

    rows: Sequence[Row]
    errors: Sequence[str]
    engine_kills: int
    seconds: float

    @property
    def full_block_tokens(self) -> int:
        """Tokens in full blocks over all prompts: the most that caches can serve."""
        return sum(full_block_tokens(row.prompt) for row in self.rows)

    def external_tokens(self, completions: Sequence[Completion | None]) -> int:
        """Tokens that came through the connector."""
        return sum(completion.hits.external for completion in completions if completion)

    def local_tokens(self, completions: Sequence[Completion | None]) -> int:
        """Tokens that came from vLLM's own prefix cache."""
        return sum(completion.hits.local for completion in completions if completion)

    def problems(self) -> Iterator[str]:
        """One sentence for each thing that differs from what must be."""
        yield from self.errors
        for number, row in enumerate(self.rows, start=1):
            if not row.same_after_kill:
                yield f"prompt {number}: the engine started after the kill gave other tokens"
            if not row.same_on_second:
                yield f"prompt {number}: the second engine gave other tokens"
        for engine, completions in {
            "the engine started after the kill": [row.after_kill for row in self.rows],
            "the second engine": [row.second for row in self.rows],
        }.items():
            yield from self._hit_problems(engine, completions)

    def _hit_problems(self, engine: str, completions: Sequence[Completion | None]) -> Iterator[str]:
        first = self.external_tokens(completions[:1])
        expected = full_block_tokens(self.rows[0].prompt)
        if first != expected:
            yield f"{engine}: {first} external tokens for the first prompt instead of {expected}"
        total = self.external_tokens(completions) + self.local_tokens(completions)
        if total != self.full_block_tokens:
            yield f"{engine}: {total} tokens from caches instead of {self.full_block_tokens}"

    def document(self) -> dict[str, Any]:
        """The JSON line."""
        after_kill = [row.after_kill for row in self.rows]
        second = [row.second for row in self.rows]
        return {
            "prompts": len(self.rows),
            "same_tokens": sum(row.same_after_kill for row in self.rows),
            "errors": len(self.errors),
            "engine_kills": self.engine_kills,
            "external_tokens": self.external_tokens(after_kill),
            "local_tokens": self.local_tokens(after_kill),
            "full_block_tokens": self.full_block_tokens,
            "second_engine": {
                "same_tokens": sum(row.same_on_second for row in self.rows),
                "external_tokens": self.external_tokens(second),
                "local_tokens": self.local_tokens(second),
            },
            "per_prompt": [_prompt_document(row) for row in self.rows],
            "problems": list(self.problems()),
            "seconds": round(self.seconds, 1),
        }


def _same(cold: Completion | None, warm: Completion | None) -> bool:
    return cold is not None and warm is not None and cold.tokens == warm.tokens


def _prompt_document(row: Row) -> dict[str, Any]:
    return {
        "tokens": len(row.prompt),
        "full_block_tokens": full_block_tokens(row.prompt),
        "cold": _completion_document(row.cold),
        "after_kill": _completion_document(row.after_kill),
        "second_engine": _completion_document(row.second),
    }


def _completion_document(completion: Completion | None) -> dict[str, Any] | None:
    if completion is None:
        return None
    return {
        "external_tokens": completion.hits.external,
        "local_tokens": completion.hits.local,
        "ttft_ms": round(1000 * completion.first_token_s, 1),
    }
