"""What is to be seen of a daemon at one moment; ``schemas/top.schema.json`` has each field."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pegaflow.models import Blocks
from pegaflow.observe.thresholds import Level


@dataclass(frozen=True)
class Window:
    """What the rates and quantiles are over."""

    seconds: float
    since_start: bool
    restarted: bool


@dataclass(frozen=True)
class Daemon:
    """Who answers, and how it does."""

    version: str
    pid: int
    boot_id: str
    uptime_s: float
    state: str
    ready_percent: float
    reasons: tuple[str, ...]
    http_addr: str
    policy: str
    pool_kind: str
    pool_path: str | None
    gpus: int
    pinned_bytes: int


@dataclass(frozen=True)
class Tier:
    """The memory tier, or one path of the ssd tier."""

    tier: str
    name: str
    state: str
    reason: str | None
    capacity_bytes: int
    used_bytes: int
    leased_bytes: int
    in_flight_bytes: int
    blocks: int
    largest_free_bytes: int | None
    """Of the largest piece that pages of any size can have; None for ssd."""

    @property
    def used_share(self) -> float:
        """The part that is used, 0 to 1."""
        return self.used_bytes / self.capacity_bytes if self.capacity_bytes else 0.0


@dataclass(frozen=True)
class Node:
    """The pool's bytes on one NUMA node; about, where there are several."""

    node: int
    bytes: int


@dataclass(frozen=True)
class Flow:
    """Bytes that move in one direction."""

    name: str
    bytes_per_s: float
    blocks_per_s: float
    transfers: int
    failures: int
    in_flight: int
    total_bytes: int
    tier_bytes_per_s: float | None
    """What its tier was measured to do; None where that is not known."""


@dataclass(frozen=True)
class Latency:
    """How long something took in the window; None where nothing of it ended."""

    name: str
    count: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None


@dataclass(frozen=True)
class Engine:
    """One engine that is attached."""

    engine_id: str
    model: str
    namespace: str
    workers: int
    registered_workers: int
    attached_s: float
    stale: bool
    """Whether it should be complete by now and is not."""
    page_bytes: int | None
    """Bytes of a block on its GPUs, all workers together; None: not on a GPU."""
    last_call_s: float | None
    mapped_bytes: int
    """Bytes of its memory that saves and loads reach."""
    saved_blocks: int
    """In the window, as are the four below."""
    loaded_blocks: int
    save_bytes_per_s: float
    load_bytes_per_s: float
    failures: int


@dataclass(frozen=True)
class Namespace:
    """What one namespace has, over all its cache groups."""

    namespace: str
    model: str | None
    blocks: int
    bytes: int
    ssd_blocks: int
    ssd_bytes: int
    requested: int
    """Blocks asked for in the window."""
    hit_share: float | None
    """Of memory, in the window, 0 to 1."""
    evictions: int
    evictions_per_s: float
    pinned: bool
    quota_bytes: int | None


@dataclass(frozen=True)
class Misses:
    """Blocks that lookups missed in the window."""

    reasons: Mapping[str, int]
    lost: int
    """Those that were cached and are not any more."""
    ghost_hits: Mapping[str, int]
    """Those that pools of so many times the size would have had."""

    @property
    def new(self) -> int:
        """Those that never were cached."""
        return self.reasons.get("new", 0)


@dataclass(frozen=True)
class Ceiling:
    """What an endless cache would have hit in the last ``window_s`` seconds."""

    window_s: int
    requested: int
    hit_share: float | None
    """0 to 1; None of nothing."""


@dataclass(frozen=True)
class Ages:
    """Ages of blocks evicted in the window; None where none was."""

    p50_s: float | None
    p95_s: float | None
    p99_s: float | None


@dataclass(frozen=True)
class Prefix:
    """The first blocks of prompts that were asked for most since the start."""

    namespace: str
    block_hash: str
    blocks: int
    lookups: int
    """At least."""
    found_share: float
    """The part of them that found all of it, 0 to 1."""


@dataclass(frozen=True)
class Advice:
    """What blocks are worth; None where nothing is known."""

    recompute_block_s: float | None
    memory_block_s: float | None
    ssd_block_s: float | None
    suggested_pool_bytes: int | None


@dataclass(frozen=True)
class Evictions:
    """What left, in the window."""

    memory_blocks: int
    memory_per_s: float
    ssd_blocks: int
    admissions: int
    kept_blocks: int
    reasons: Mapping[str, int]
    """Of those that left memory."""
    unfound_blocks: int
    """Of those that left memory: no lookup had found them."""
    residence: Ages
    """How long they had been there."""
    idle: Ages
    """How long they had not been used."""


@dataclass(frozen=True)
class Leases:
    """Rights to loadable blocks."""

    held: int
    blocks: int
    bytes: int
    oldest_s: float | None
    suspect: bool
    """Whether the oldest is so old that it may have leaked."""
    pinned_blocks: int
    in_flight_pages: int
    partial_blocks: int
    granted: int
    ended: Mapping[str, int]
    """Those that ended in the window, by reason."""


@dataclass(frozen=True)
class Queues:
    """What waits, and what was turned away in the window."""

    write_blocks: int
    write_bytes: int
    read_bytes: int
    fetch_lookups: int
    fetch_bytes: int
    no_space: int
    unwritten: Mapping[str, int]
    """Blocks not written to ssd, by reason."""
    unfetched: Mapping[str, int]
    """Blocks found on ssd and not fetched, by reason."""
    write_budget_left_bytes: int | None


@dataclass(frozen=True)
class Integrity:
    """Pages compared with their checksums, since the start."""

    corrupt_blocks: int
    verified_pages: int
    scrubbed_pages: int
    pending_pages: int


@dataclass(frozen=True)
class Operation:
    """What an operator let be done, and is not done yet."""

    operation: str
    elapsed_s: float
    share: float | None
    """The part that is done, 0 to 1; None where that is not known."""


@dataclass(frozen=True)
class Alert:
    """Something worth a look."""

    level: Level
    panel: str
    """The panel that shows more."""
    subject: str
    """The tier, engine or measure that it is about."""
    text: str


@dataclass(frozen=True)
class Snapshot:
    """One daemon at one moment."""

    host: str
    at: float
    window: Window
    daemon: Daemon
    blocks: Blocks
    """Since the daemon's start."""
    window_blocks: Blocks
    tiers: tuple[Tier, ...]
    nodes: tuple[Node, ...]
    """Empty where the kernel does not tell."""
    flows: tuple[Flow, ...]
    latencies: tuple[Latency, ...]
    engines: tuple[Engine, ...]
    namespaces: tuple[Namespace, ...]
    misses: Misses
    ceilings: tuple[Ceiling, ...]
    """The shortest window first."""
    evictions: Evictions
    prefixes: tuple[Prefix, ...]
    """The hottest first."""
    advice: Advice
    leases: Leases
    queues: Queues
    integrity: Integrity
    operations: tuple[Operation, ...]
    """Those under way, a warming of the memory tier too."""
    shortages: tuple[str, ...]
    """Sentences on file systems that have less room than their ssd paths may take."""
    alerts: tuple[Alert, ...]
    absent: Mapping[str, str]
    """Why some parts have nothing to show, a sentence each."""

    @cached_property
    def rates(self) -> Mapping[str, float]:
        """Bytes a second by the flow's name."""
        return {flow.name: flow.bytes_per_s for flow in self.flows}

    def flow(self, name: str) -> Flow:
        """The flow of that name."""
        return next(flow for flow in self.flows if flow.name == name)

    def document(self) -> dict[str, Any]:
        """Its part of the ``top`` document."""
        return dataclasses.asdict(self)
