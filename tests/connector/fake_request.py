"""Requests and scheduler outputs for tests of single calls."""

import os
from dataclasses import dataclass, field
from typing import Any

from tests.connector.simulated_request import CachedData, NewData, Scheduled


@dataclass
class FakeRequest:
    """A request of vLLM with as many full blocks as it has hashes."""

    request_id: str = "request"
    block_hashes: list[bytes] = field(default_factory=list)
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False
    lora_request: Any = None

    @classmethod
    def of_blocks(cls, count: int, request_id: str = "request") -> "FakeRequest":
        return cls(request_id, [os.urandom(32) for _ in range(count)])


def step_of_new(
    request: FakeRequest, blocks: list[int], *, computed: int = 0, tokens: int
) -> Scheduled:
    """A step that schedules the request for the first time."""
    return Scheduled(
        scheduled_new_reqs=[NewData(request.request_id, (blocks,), computed)],
        num_scheduled_tokens={request.request_id: tokens},
    )


def step_of_known(
    request: FakeRequest,
    new_blocks: list[int],
    *,
    computed: int,
    tokens: int,
    resumed: bool = False,
) -> Scheduled:
    """A step that schedules the request again."""
    return Scheduled(
        scheduled_cached_reqs=CachedData(
            [request.request_id],
            {request.request_id} if resumed else set(),
            [(new_blocks,) if new_blocks else None],
            [computed],
        ),
        num_scheduled_tokens={request.request_id: tokens},
    )
