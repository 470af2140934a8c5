"""The documents that the daemon answers with; ``schemas/`` has each field's meaning and unit."""

from dataclasses import dataclass

from pegaflow.config import DaemonConfig
from pegaflow.demand import NO_DEMAND, UNKNOWN_RESTORE, Demand, HotPrefix, Restore, WhatIf
from pegaflow.gpu_models import Gpus


@dataclass(frozen=True)
class PoolNode:
    """The pool's bytes on one NUMA node; about, where there are several."""

    node: int
    bytes: int


@dataclass(frozen=True)
class Pool:
    """The memory tier."""

    kind: str
    path: str | None
    bytes: int
    ready_bytes: int
    used_bytes: int
    policy: str
    in_flight_pages: int
    partial_blocks: int
    pinned_blocks: int
    no_space: int
    fallback: str | None
    largest_free_bytes: int = 0
    """Of the largest piece that pages of any size can have."""
    is_resized: bool = False
    """Whether it was given another size since the start."""
    nodes: tuple[PoolNode, ...] = ()
    """Empty where the kernel does not tell."""


@dataclass(frozen=True)
class TakenOver:
    """What an ended daemon's pool gave to this one."""

    blocks: int
    bytes: int
    unsealed_pages: int
    pages_without_checksum: int
    bad_records: int
    incomplete_pages: int
    duration_s: float

    @property
    def dropped_pages(self) -> int:
        """Pages that were not taken over."""
        return (
            self.unsealed_pages
            + self.pages_without_checksum
            + self.bad_records
            + self.incomplete_pages
        )


@dataclass(frozen=True)
class Checksums:
    """What became of checksums since the start."""

    pending_pages: int
    made_pages: int
    verified_pages: int
    verified_bytes: int
    verify_s: float
    scrubbed_pages: int
    scrub_rounds: int
    corrupt_blocks: int


@dataclass(frozen=True)
class Blocks:
    """Blocks asked for since the start, by where they were."""

    requested: int
    memory: int
    ssd: int
    remote: int
    miss: int

    @property
    def hit_rate(self) -> float | None:
        """The share of blocks asked for that were in some tier; None before the first."""
        return 1 - self.miss / self.requested if self.requested else None


@dataclass(frozen=True)
class Transfers:
    """Saves or loads since the start."""

    transfers: int
    failures: int
    blocks: int
    bytes: int
    in_flight: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True)
class Leases:
    """Engines' rights to loadable blocks."""

    held: int
    blocks: int
    bytes: int
    oldest_s: float | None


@dataclass(frozen=True)
class EngineTransfers:
    """One engine's saves or loads since it attached."""

    transfers: int
    failures: int
    blocks: int
    bytes: int


@dataclass(frozen=True)
class Engine:
    """One engine that is attached."""

    engine_id: str
    model: str
    namespace: str
    complete: bool
    scheduler_pid: int | None
    worker_pids: tuple[int, ...]
    workers: int
    attached_s: float
    last_call_s: float | None = None
    """Seconds since it called last; None of daemons that do not know, which count none below."""
    mapped_bytes: int = 0
    saves: EngineTransfers = EngineTransfers(0, 0, 0, 0)
    loads: EngineTransfers = EngineTransfers(0, 0, 0, 0)

    @property
    def key(self) -> str:
        """What tells it from the others that are attached: several may have one id."""
        pid = self.scheduler_pid or min(self.worker_pids, default=0)
        return f"{self.engine_id}/{pid}"


@dataclass(frozen=True)
class Namespace:
    """What is cached under one namespace and cache group."""

    namespace: str
    group: int
    blocks: int
    bytes: int
    hits: int
    misses: int
    admissions: int
    evictions: int
    ssd_blocks: int = 0
    ssd_bytes: int = 0
    pinned: bool = False
    quota_bytes: int | None = None


@dataclass(frozen=True)
class SsdPath:
    """One directory of the ssd tier."""

    path: str
    state: str
    """``online``, ``degraded`` or ``offline``."""
    reason: str | None
    """Why it is not online."""
    engine: str
    direct: bool
    """Whether its bytes bypass the kernel's cache."""
    capacity_bytes: int
    used_bytes: int
    blocks: int
    bytes: int
    written_bytes: int
    read_bytes: int
    evicted_blocks: int
    corrupt_blocks: int
    read_errors: int
    write_errors: int
    recovered_blocks: int
    recovery_s: float


@dataclass(frozen=True)
class SsdWrites:
    """Blocks on their way to the disks, and what became of them since the start."""

    queued_blocks: int
    in_flight_bytes: int
    blocks: int
    bytes: int
    evicted_blocks: int
    failed_blocks: int


@dataclass(frozen=True)
class SsdFetches:
    """Blocks on their way to lookups and to a warming, and what became of them since the start."""

    lookups: int
    queued_bytes: int
    in_flight_bytes: int
    blocks: int
    bytes: int
    no_room_blocks: int
    busy_blocks: int
    failed_blocks: int
    corrupt_blocks: int
    cancelled_blocks: int
    declined_blocks: int


@dataclass(frozen=True)
class Warming:
    """The last warming of the memory tier."""

    state: str
    """``running``, ``done`` or ``cancelled``."""
    planned_blocks: int
    planned_bytes: int
    fetched_blocks: int
    fetched_bytes: int
    elapsed_s: float


@dataclass(frozen=True)
class RunningOperation:
    """An operation on tiers or namespaces that runs now."""

    operation: str
    elapsed_s: float
    blocks: int
    bytes: int
    blocks_expected: int
    """0 until it is known."""
    bytes_expected: int


@dataclass(frozen=True)
class Ssd:
    """The ssd tier."""

    blocks: int
    bytes: int
    queued_write_bytes: int
    queued_read_bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    write_budget_bytes: int | None
    write_budget_left_bytes: int | None
    writes: SsdWrites
    fetches: SsdFetches
    warming: Warming | None
    paths: tuple[SsdPath, ...]
    shortages: tuple[str, ...] = ()
    """Sentences on file systems that have less room than their paths may take."""


@dataclass(frozen=True)
class Recording:
    """What was recorded of lookups since the recording began."""

    directory: str
    lookups: int
    left_out: int
    bytes: int
    """Of all recordings there."""
    size_bytes: int | None = None
    """What these may take; None of daemons that do not say."""
    error: str | None = None
    """Why nothing can be written now; None where it can."""
    shortage: str | None = None
    """A sentence where the file system had less than they may take at the begin; None elsewhere."""


@dataclass(frozen=True)
class SelfTest:
    """A round trip of random bytes when the daemon started."""

    copy_path: str
    """``host``, or a GPU's UUID and how its copies are handed to the driver."""
    bytes: int
    duration_s: float
    error: str | None
    """Why they did not come back as they were; None where they did."""


@dataclass(frozen=True)
class Status:
    """The daemon's status."""

    version: str
    pid: int
    boot_id: str
    started_at: float
    uptime_s: float
    state: str
    ready_percent: float
    reasons: tuple[str, ...]
    socket: str
    http_addr: str
    supervised: bool
    pool: Pool
    gpus: Gpus
    taken_over: TakenOver | None
    checksums: Checksums
    blocks: Blocks
    saves: Transfers
    loads: Transfers
    leases: Leases
    engines: tuple[Engine, ...]
    namespaces: tuple[Namespace, ...]
    config: DaemonConfig
    ssd: Ssd | None = None
    operations: tuple[RunningOperation, ...] = ()
    what_if: WhatIf | None = None
    """None of daemons that do not know, which have nothing below either."""
    demand: Demand = NO_DEMAND
    hot_prefixes: tuple[HotPrefix, ...] = ()
    restore: Restore = UNKNOWN_RESTORE
    recording: Recording | None = None
    self_tests: tuple[SelfTest, ...] = ()
    last_event: int | None = None
    """The number of the last event; None of daemons that keep none."""

    @property
    def cached_blocks(self) -> int:
        """Blocks in memory."""
        return sum(namespace.blocks for namespace in self.namespaces)

    def points_more(self, times: float) -> float | None:
        """Percent of blocks asked for that a pool of so many times the size would have hit more.

        By the live curve where it is settled, else by what was missed after it had left this pool.
        None before anything was asked, and for sizes that the daemon does not count.
        """
        points = self.what_if.points if self.what_if is not None else ()
        sure = {point.pool_bytes: point.hit_percent for point in points if not point.is_rough}
        sizes = (self.pool.bytes, int(times * self.pool.bytes))
        if self.what_if is not None and not self.what_if.is_early(self.cached_blocks):
            here, there = (sure.get(size) for size in sizes)
            if here is not None and there is not None:
                return max(there - here, 0.0)
        counts = {ghost.pool_times: ghost.blocks for ghost in self.demand.ghost_hits}
        if times not in counts or not self.blocks.requested:
            return None
        return 100 * counts[times] / self.blocks.requested


@dataclass(frozen=True)
class Progress:
    """How far an operation is."""

    blocks: int
    bytes: int
    blocks_expected: int
    """0 until it is known."""
    bytes_expected: int


@dataclass(frozen=True)
class Ready:
    """What a daemon says once it answers."""

    socket: str
    http_addr: str
    pid: int
    boot_id: str
    pool_bytes: int
    pool_kind: str
    pool_path: str | None
    taken_over_blocks: int
    taken_over_bytes: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Stopped:
    """What is left of a daemon that was stopped."""

    pid: int | None
    """None when no daemon ran, and what the last one had left was freed."""
    pool_bytes_kept: int
    pool_bytes_freed: int = 0
