"""What the demo of the ssd tier measured, and what is wrong with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.demo.figures import completion_document, external_tokens, local_tokens
from tests.engine.engine import Completion
from tests.engine.prompts import Prompt, full_block_tokens


@dataclass(frozen=True)
class SsdRow:
    """One prompt: its cold answer, and the one with all on disk; None is a request that failed."""

    prompt: Prompt
    cold: Completion | None
    warm: Completion | None

    @property
    def is_same(self) -> bool:
        """Whether both have the same tokens."""
        return (
            self.cold is not None and self.warm is not None and self.cold.tokens == self.warm.tokens
        )


@dataclass(frozen=True)
class SsdFigures:
    """The whole run. ``errors`` are the sentences of failed requests."""

    rows: Sequence[SsdRow]
    errors: Sequence[str]
    warmed_blocks: int
    """Blocks that ``pegaflow warm`` loaded before the first request."""
    memory_hit_blocks: int
    ssd_hit_blocks: int
    """Blocks that requests found on disk only."""
    blocks_on_ssd: int
    bytes_on_ssd: int
    pool_bytes: int
    wrong_pages: int
    seconds: float

    @property
    def _warm(self) -> list[Completion | None]:
        return [row.warm for row in self.rows]

    def problems(self) -> Iterator[str]:
        """One sentence for each thing that differs from what must be."""
        yield from self.errors
        for number, row in enumerate(self.rows, start=1):
            if not row.is_same:
                yield f"prompt {number}: the engine that was started anew gave other tokens"
        full = sum(full_block_tokens(row.prompt) for row in self.rows)
        cached = external_tokens(self._warm) + local_tokens(self._warm)
        if cached != full:
            yield f"{cached} tokens from caches instead of {full}"
        if self.bytes_on_ssd <= self.pool_bytes:
            yield f"{self.bytes_on_ssd} bytes on disk do not fill a pool of {self.pool_bytes} bytes"
        if self.warmed_blocks == 0:
            yield "pegaflow warm loaded nothing"
        if self.ssd_hit_blocks == 0:
            yield "no request found a block on disk"
        if self.wrong_pages:
            yield f"{self.wrong_pages} blocks were not what was saved"

    def document(self) -> dict[str, Any]:
        """The JSON line."""
        return {
            "prompts": len(self.rows),
            "same_tokens": sum(row.is_same for row in self.rows),
            "errors": len(self.errors),
            "external_tokens": external_tokens(self._warm),
            "local_tokens": local_tokens(self._warm),
            "full_block_tokens": sum(full_block_tokens(row.prompt) for row in self.rows),
            "warmed_blocks": self.warmed_blocks,
            "memory_hit_blocks": self.memory_hit_blocks,
            "ssd_hit_blocks": self.ssd_hit_blocks,
            "wrong_pages": self.wrong_pages,
            "pool_bytes": self.pool_bytes,
            "ssd_blocks": self.blocks_on_ssd,
            "ssd_bytes": self.bytes_on_ssd,
            "per_prompt": [
                {
                    "tokens": len(row.prompt),
                    "cold": completion_document(row.cold),
                    "warm": completion_document(row.warm),
                }
                for row in self.rows
            ],
            "problems": list(self.problems()),
            "seconds": round(self.seconds, 1),
        }
