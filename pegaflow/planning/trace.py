"""A recorded trace: which blocks requests asked for, and when."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pegaflow import _native


@dataclass
class Trace:
    """Requests in the order of their times."""

    form: str
    """The format it was read from."""
    block_tokens: int
    """Tokens of a block."""
    reuse_model: str
    """Where equal blocks come from, in words: recorded, or supposed."""
    has_content: bool = True
    """Whether it says which blocks are equal; else that is supposed."""
    block_bytes: int | None = None
    """Bytes of a block, where the trace says so."""
    requests: int = 0
    prompt_tokens: int = 0
    duration_s: float = 0.0
    """From the first request to the last."""
    skipped: list[str] = field(default_factory=list)
    """The first lines that could not be used, each with the reason."""
    skipped_lines: int = 0
    """All of them."""
    notes: list[str] = field(default_factory=list)
    """What people should know of how it was read."""
    recorded: _native.RecordedRequests = field(default_factory=_native.RecordedRequests)

    def add(self, time_s: float, names: Sequence[int], tokens: int) -> None:
        """Add a request for the blocks ``names``, which came ``time_s`` after the first."""
        self.recorded.push(round(time_s * 1e6), names)
        self.requests += 1
        self.prompt_tokens += tokens
        self.duration_s = time_s

    def ceiling_percent(self) -> float:
        """Hits of a cache that keeps everything, in percent of the blocks."""
        return round(100 * self.recorded.known_blocks() / max(self.blocks, 1), 2)

    @property
    def blocks(self) -> int:
        """Blocks of all requests, each as often as it was asked for."""
        return self.recorded.blocks()

    @property
    def distinct_blocks(self) -> int:
        """Blocks that differ."""
        return self.recorded.distinct_blocks()
