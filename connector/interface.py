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
    skip_reading_prefix_cache: bool
    """All of its prompt must be computed."""
    lora_request: Any
    """The adapter that it uses, or None."""

    @property
    def block_hashes(self) -> Sequence[bytes]:
        """One hash for each full block of known tokens."""


class AllocatedBlocks(Protocol):
    """The blocks that vLLM allocated for a request."""

    def get_block_ids(self) -> Sequence[Sequence[int]]:
        """One list of block ids for each cache group."""


class NewRequest(Protocol):
    """A request that is scheduled for the first time, or again after it was preempted."""

    @property
    def req_id(self) -> str:
        """The request."""

    @property
    def block_ids(self) -> Sequence[Sequence[int]]:
        """All its blocks, one list for each cache group."""

    @property
    def num_computed_tokens(self) -> int:
        """Tokens that have their KV when the step begins."""


class CachedRequests(Protocol):
    """Requests that the workers know already; the sequences run in parallel."""

    @property
    def req_ids(self) -> Sequence[str]:
        """The requests."""

    @property
    def resumed_req_ids(self) -> set[str]:
        """Those of them that were preempted: their new blocks are all that they have."""

    @property
    def new_block_ids(self) -> Sequence[Sequence[Sequence[int]] | None]:
        """Blocks that each has in addition."""

    @property
    def num_computed_tokens(self) -> Sequence[int]:
        """Tokens of each that have their KV when the step begins."""


class SchedulerOutput(Protocol):
    """What the scheduler decided for a step."""

    @property
    def scheduled_new_reqs(self) -> Sequence[NewRequest]:
        """Requests that the workers do not know yet."""

    @property
    def scheduled_cached_reqs(self) -> CachedRequests:
        """Requests that they know."""

    @property
    def num_scheduled_tokens(self) -> Mapping[str, int]:
        """Tokens that are computed, by request."""


class ConnectorOutput(Protocol):
    """What the workers' connectors reported of a step, over all workers."""

    @property
    def finished_sending(self) -> set[str] | None:
        """Requests whose blocks every worker let go of."""

    @property
    def finished_recving(self) -> set[str] | None:
        """Requests whose load has ended on every worker."""

    @property
    def invalid_block_ids(self) -> set[int]:
        """Blocks that some worker could not load."""

    @property
    def kv_connector_worker_meta(self) -> object:
        """The workers' reports in one."""


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
