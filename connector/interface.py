"""The part of vLLM's connector interface that this connector stands on, typed.

Where vLLM is installed its own classes take the place of these (``compat``); type checking and the
tests without vLLM use these. The protocols name what is read of vLLM's objects, and nothing more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol


class KVConnectorRole(Enum):
    """Which half of a connector an instance is."""

    SCHEDULER = 0
    WORKER = 1


class KVConnectorMetadata:
    """What the scheduler side sends to the workers in each step."""


class KVConnectorWorkerMetadata:
    """What a worker sends back to the scheduler side in each step."""


class SupportsHMA:
    """Marks a connector that vLLM may run with its hybrid cache manager."""


class KVConnectorBase_V1:
    """Base of connectors."""

    def __init__(self, vllm_config: Any, role: KVConnectorRole, kv_cache_config: Any) -> None:
        self._role = role

    def bind_connector_metadata(self, connector_metadata: KVConnectorMetadata) -> None:
        """Take the step's metadata."""

    def clear_connector_metadata(self) -> None:
        """Forget the step's metadata."""


@dataclass
class KVConnectorStats:
    """Base of what a connector reports to vLLM's own metrics; ``data`` crosses processes."""

    data: dict[str, Any] = field(default_factory=dict)


class KVConnectorPromMetrics:
    """Base of a connector's Prometheus metrics in vLLM's registry."""

    def __init__(
        self,
        vllm_config: Any,
        metric_types: Mapping[Any, Any],
        labelnames: Sequence[str],
        per_engine_labelvalues: Mapping[int, Sequence[object]],
    ) -> None:
        self.per_engine_labelvalues = per_engine_labelvalues


class Request(Protocol):
    """A request of vLLM's scheduler."""

    request_id: str
    num_preemptions: int
    """How often it has lost its blocks."""

    @property
    def block_hashes(self) -> Sequence[bytes]:
        """One hash for each full block of known tokens."""


class AllocatedBlocks(Protocol):
    """The blocks that vLLM allocated for a request."""

    def get_block_ids(self) -> Sequence[Sequence[int]]:
        """One list of block ids for each cache group."""


class NewRequest(Protocol):
    """A request that is scheduled for the first time, or again after it was preempted."""

    req_id: str
    block_ids: Sequence[Sequence[int]]
    num_computed_tokens: int


class CachedRequests(Protocol):
    """Requests that the workers know already; the sequences run in parallel."""

    req_ids: Sequence[str]
    resumed_req_ids: set[str]
    new_block_ids: Sequence[Sequence[Sequence[int]] | None]
    num_computed_tokens: Sequence[int]


class SchedulerOutput(Protocol):
    """What the scheduler decided for a step."""

    scheduled_new_reqs: Sequence[NewRequest]
    scheduled_cached_reqs: CachedRequests
    num_scheduled_tokens: Mapping[str, int]


class ConnectorOutput(Protocol):
    """What the workers' connectors reported of a step, over all workers."""

    finished_sending: set[str] | None
    finished_recving: set[str] | None
    invalid_block_ids: set[int]
    kv_connector_worker_meta: object


class Tensor(Protocol):
    """A tensor of the KV cache."""

    @property
    def shape(self) -> Sequence[int]:
        """Sizes of its axes."""

    @property
    def device(self) -> Any:
        """Where its memory is."""

    @property
    def dtype(self) -> Any:
        """What an element is."""

    def stride(self) -> Sequence[int]:
        """Elements from one index to the next, for each axis."""

    def element_size(self) -> int:
        """Bytes of an element."""

    def data_ptr(self) -> int:
        """Address of the first element."""
