"""The documents that the daemon answers with; ``schemas/`` has each field's meaning and unit."""

import json
import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin

from pegaflow.config import DaemonConfig
from pegaflow.errors import PegaflowError

D = TypeVar("D")


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
    pool: Pool
    blocks: Blocks
    saves: Transfers
    loads: Transfers
    leases: Leases
    engines: tuple[Engine, ...]
    namespaces: tuple[Namespace, ...]
    config: DaemonConfig


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


@dataclass(frozen=True)
class Stopped:
    """What is left of a daemon that was stopped."""

    pid: int
    pool_bytes_kept: int


def parse(model: type[D], text: str) -> D:
    """The ``model`` in a JSON document. Unknown fields are ignored: newer daemons have more."""
    try:
        return typing.cast(D, _value(model, json.loads(text)))
    except (KeyError, TypeError, ValueError) as error:
        raise PegaflowError(
            f"the daemon's {model.__name__.lower()} document cannot be read ({error!r}); "
            "use the command line of the daemon's version"
        ) from error


def _value(kind: Any, raw: Any) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(
            **{field.name: _value(hints[field.name], raw[field.name]) for field in fields(kind)}
        )
    if get_origin(kind) is tuple:
        return tuple(_value(get_args(kind)[0], item) for item in raw)
    if get_origin(kind) is types.UnionType:
        return None if raw is None else _value(get_args(kind)[0], raw)
    if kind is float and isinstance(raw, int):
        return float(raw)
    if not isinstance(raw, kind):
        raise TypeError(f"{raw!r} where {kind.__name__} is expected")
    return raw
