"""Requests of the simulated engine and what its scheduler says of them in a step."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

BLOCK_TOKENS = 4


def chain(tokens: list[int]) -> list[bytes]:
    """The hash of each full block, over all tokens up to its end."""
    hashes, parent = [], b""
    for start in range(0, len(tokens) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
        text = parent + repr(tokens[start : start + BLOCK_TOKENS]).encode()
        parent = hashlib.sha256(text).digest()
        hashes.append(parent)
    return hashes


@dataclass(eq=False)
class SimRequest:
    """A request; its whole output is known to the simulation, but not to the connector."""

    request_id: str
    tokens: list[int]
    prompt: int
    """How many of the tokens are the prompt."""
    known: int = 0
    """Tokens that the scheduler knows."""
    computed: int = 0
    """Tokens that the scheduler counts as computed, with drafts of steps under way."""
    in_memory: int = 0
    """Leading tokens whose KV the workers have, without rejected drafts."""
    placeholders: int = 0
    """Tokens that steps under way will make known."""
    blocks: list[int] = field(default_factory=list)
    at_workers: int = 0
    """How many of the blocks the workers were told."""
    status: str = "waiting"
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False
    lora_request: Any = None

    def __post_init__(self) -> None:
        self.known = self.prompt
        self.hashes = chain(self.tokens)

    @property
    def block_hashes(self) -> list[bytes]:
        return self.hashes[: self.known // BLOCK_TOKENS]


class AllocatedIds:
    """vLLM's ``KVCacheBlocks`` of a model with one group."""

    def __init__(self, ids: list[int]) -> None:
        self._ids = list(ids)

    def get_block_ids(self) -> tuple[list[int], ...]:
        return (self._ids,)


@dataclass
class NewData:
    req_id: str
    block_ids: tuple[list[int], ...]
    num_computed_tokens: int


@dataclass
class CachedData:
    req_ids: list[str] = field(default_factory=list)
    resumed_req_ids: set[str] = field(default_factory=set)
    new_block_ids: list[tuple[list[int], ...] | None] = field(default_factory=list)
    num_computed_tokens: list[int] = field(default_factory=list)


@dataclass
class Scheduled:
    """vLLM's ``SchedulerOutput``."""

    scheduled_new_reqs: list[NewData] = field(default_factory=list)
    scheduled_cached_reqs: CachedData = field(default_factory=CachedData)
    num_scheduled_tokens: dict[str, int] = field(default_factory=dict)
    finished_req_ids: set[str] = field(default_factory=set)


@dataclass
class Said:
    """vLLM's ``KVConnectorOutput``, over all workers."""

    finished_sending: set[str] = field(default_factory=set)
    finished_recving: set[str] = field(default_factory=set)
    invalid_block_ids: set[int] = field(default_factory=set)
    kv_connector_worker_meta: object = None
