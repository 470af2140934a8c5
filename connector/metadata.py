"""What the two halves of the connector say to each other in each step."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pegaflow.connector.compat import KVConnectorMetadata, KVConnectorWorkerMetadata


@dataclass(frozen=True)
class EngineIdentity:
    """Which engine the workers are of, and whose blocks it may share."""

    engine_key: bytes
    """16 random bytes."""
    namespace: bytes
    """32 bytes."""
    replicas: int
    """Consecutive tensor-parallel ranks that hold equal bytes and share a shard."""


@dataclass(frozen=True)
class LoadOrder:
    """Copy leased blocks, from the lease's first on, into the request's blocks."""

    request_id: str
    lease_id: int
    """0: there is no lease any more and the load fails."""
    boot_id: int
    block_ids: tuple[int, ...]


@dataclass(frozen=True)
class SaveOrder:
    """Copy the request's blocks into the cache, after the forward of this step."""

    serial: int
    """Names this order in the workers' reports."""
    request_id: str
    hashes: bytes
    """One block hash for each block id, without separators."""
    after: bytes
    """The hash of the block before each, for the first block of the request its own."""
    block_ids: tuple[int, ...]


@dataclass(frozen=True)
class StepPlan(KVConnectorMetadata):
    """The scheduler side's orders for one step."""

    identity: EngineIdentity | None = None
    """None until the scheduler side knows it; the workers do nothing before."""
    loads: tuple[LoadOrder, ...] = ()
    saves: tuple[SaveOrder, ...] = ()
    preempted: frozenset[str] = frozenset()
    """Requests that lost their blocks: whatever still reads them must end now."""
    held: frozenset[str] = frozenset()
    """Finished requests whose blocks vLLM keeps until every worker reports them as sent."""


@dataclass(frozen=True)
class WorkerLayout:
    """What a worker found when it read its KV cache tensors."""

    digest: str
    """Of all that decides what the bytes of a page are; empty with a refusal."""
    replicas: int
    """Consecutive tensor-parallel ranks that hold equal bytes, as this worker sees it."""
    refusal: str = ""
    """Why this worker cannot use the cache, in one sentence; empty when it can."""


@dataclass(frozen=True)
class WorkerReport(KVConnectorWorkerMetadata):
    """What one worker, or several together, have to say after a step."""

    ended_saves: Mapping[int, int] = field(default_factory=dict)
    """By the order's serial: how many workers are done with it."""
    layouts: Mapping[int, WorkerLayout] = field(default_factory=dict)
    """By worker rank, until the workers know their identity."""

    def aggregate(self, other: "KVConnectorWorkerMetadata") -> "WorkerReport":
        """Both reports in one."""
        assert isinstance(other, WorkerReport)
        return WorkerReport(
            ended_saves=Counter(self.ended_saves) + Counter(other.ended_saves),
            layouts={**self.layouts, **other.layouts},
        )
