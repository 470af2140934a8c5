"""The native core, as Python sees it. Translation only: behaviour is in native/."""

from collections.abc import Callable, Sequence
from typing import Final, Self, final

VERSION: Final[str]
"""The version of the native core; equal to the distribution's."""

class NativeError(Exception):
    """Base of what the native core raises; ``pegaflow.errors`` has the tree."""

class ConfigError(NativeError):
    """A setting cannot be used; the text names it, its value and what is allowed."""

class Unreachable(NativeError):
    """No daemon answers on the socket."""

class CallTimeout(NativeError):
    """The daemon did not answer within the deadline."""

class Refused(NativeError):
    """The daemon answered with an error; the text is its sentence."""

def serve(config_json: str, ready: Callable[[str], None], successor: Sequence[str] = ...) -> None:
    """Run the daemon in this process until SIGTERM, SIGINT or ``Control.Stop``.

    ``config_json`` is the JSON of ``pegaflow.config.DaemonConfig``. ``ready`` is called once, from this
    thread, with the JSON of ``{"socket", "http_addr", "pid", "boot_id", "pool_bytes", "pool_kind", "pool_path", "taken_over_blocks", "taken_over_bytes", "warnings"}`` when the daemon answers.
    ``successor`` is the command that starts another daemon when this process ends because its GPU is lost; empty: none.
    Releases the GIL. Raises ``ConfigError`` for what the configuration got wrong.
    """

def check(config_json: str) -> None:
    """Raise ``ConfigError`` for settings that no daemon can start with here, whatever room there is at the moment.

    ``config_json`` is as for ``serve``.
    """

def status(socket: str, timeout_s: float) -> str:
    """The daemon's status document as JSON."""

def stop(socket: str, purge: bool, timeout_s: float) -> str:
    """Drain and end the daemon; returns when its process has ended.

    JSON of ``{"pid", "pool_bytes_kept"}``. Raises ``CallTimeout`` when the process outlives ``timeout_s``.
    """

def purge(socket: str, pool_dir: str | None) -> int:
    """Free the pool that an ended daemon of this user and socket left; the bytes of memory that it took, 0 for none.

    ``pool_dir`` is the daemon's, None for automatic. Raises ``NativeError`` when a living daemon has the pool.
    """

@final
class Operation:
    """An operation on tiers or namespaces, under way in a daemon, which ends it when this object goes."""

    def __new__(cls, socket: str, operation_json: str, timeout_s: float) -> Self:
        """Ask for the operation; returns when it has begun. ``pegaflow/schemas/operation.schema.json`` has the JSON.

        Raises ``ConfigError`` for an operation that cannot be as asked, ``Refused`` for one that cannot be now.
        """
    def next(self) -> tuple[str, str]:
        """Wait for the next event: ``"progress"`` with the JSON of ``{"blocks", "bytes", "blocks_expected", "bytes_expected"}``, again and again, or ``"result"`` with the result's JSON, once.

        Raises ``CallTimeout`` when nothing is heard for ``timeout_s``.
        """
    def cancel(self) -> None:
        """Ask the daemon to end the operation early; its result, with what is done, still comes."""

@final
class RecordedRequests:
    """Recorded requests, and what caches would have hit of them."""

    def __new__(cls) -> Self: ...
    def push(self, time_us: int, names: Sequence[int]) -> None:
        """Add a request that came at this time, and not before the last; equal names are equal blocks."""
    def blocks(self) -> int:
        """Blocks of all requests, each as often as it was asked for."""
    def known_blocks(self) -> int:
        """Blocks of prefixes that were asked for before: what a cache would hit that keeps everything."""
    def distinct_blocks(self) -> int: ...
    @staticmethod
    def policies() -> list[str]:
        """The policies of the daemon, and ``"belady"``, the clairvoyant bound."""
    def hits(self, policy: str, capacities: Sequence[int], threads: int) -> list[int]:
        """Blocks hit with a cache of each capacity in blocks. Raises ``ConfigError`` for an unknown policy."""
    def private_hits(self, policy: str, capacity: int, instances: int, routing: str) -> int:
        """Blocks hit with ``instances`` caches that share the capacity; ``routing``: ``"round-robin"`` or ``"sticky"`` (by prefix)."""
    def tier_hits(self, policy: str, memory: int, ssd: int) -> tuple[int, int]:
        """Blocks hit in memory and on ssd, with tiers of so many blocks."""

@final
class Lookup:
    """The state of one request's lookup."""

    state: str
    """``"ready"``, ``"ask_again"`` (no answer yet), ``"pending"`` (blocks are on their way from a slower tier; the daemon bounds that) or ``"off"`` (no daemon: count on no hits)."""
    memory_blocks: int
    ssd_blocks: int
    remote_blocks: int
    lease_id: int
    """0 when there are no hits."""
    boot_id: int

@final
class SchedulerClient:
    """The scheduler side's session: lookups and leases. Connects and reconnects by itself; no method raises for a lost daemon."""

    def __new__(
        cls,
        socket: str,
        engine_key: bytes,
        engine_id: str,
        namespace: bytes,
        model: str,
        workers: int,
        shards: int,
    ) -> Self: ...
    def lookup(self, request_id: str, hashes: bytes, hash_bytes: int, wait_s: float) -> Lookup:
        """Ask once per request and identity; the same call again returns the same answer.

        Waits at most ``wait_s`` for the answer, then says ``"ask_again"`` while the call goes on. One without an answer after
        0.5 s is ``"off"`` once, and then asked anew.
        Other hashes for the same request end the earlier lookup (its lease is released) and begin a new one.
        """
    def set_block_compute(self, seconds_per_block: float) -> None:
        """How long the engine takes to compute one block: what takes longer to fetch from a slower tier is a miss."""
    def take(self, request_id: str) -> tuple[int, int] | None:
        """``(lease_id, boot_id)`` of the request's answer, which now belongs to a load; None when there is none."""
    def forget(self, request_id: str) -> None:
        """The request is gone: release its lease, also one in an answer that comes later."""
    def release(self, lease_id: int, boot_id: int) -> None:
        """Give back a lease that was taken and will not be loaded."""
    def attached(self) -> bool: ...
    def counters(self) -> dict[str, int]:
        """Monotonic counts: lookups, answers, timeouts (no answer in 50 ms), given_up (none in 0.5 s), short_circuits ("off" without a call), breaker_opened, attaches, leases_held (a gauge)."""
    def close(self) -> None: ...

@final
class TransferEnd:
    """The end of one save or load."""

    transfer_id: int
    request_id: str
    kind: str
    """``"save"`` or ``"load"``."""
    ok: bool
    """Load: all bytes are in place. Save: the answer came and nothing was revoked."""
    blocks: int
    bytes: int
    seconds: float
    message: str
    """Why, where it is not ok."""
    lost: bool
    """Nobody answered: the daemon that it was for ended, or cut the connection off."""

@final
class EngineLayout:
    """Where a worker's blocks are; it keeps exported memory of a GPU, and events, for the daemon."""

    def __new__(cls, layout_json: str) -> Self:
        """``layout_json``: ``{"hash_bytes": int, "memory": "host" | "cuda", "groups": [{"group", "num_blocks", "layers": [{"name", "base_address", "block_stride", "segments": [[offset, length], ..]}, ..]}]}``.

        Raises ``ConfigError`` for what cannot be, and for memory that no other process can map.
        """

@final
class StreamPoint:
    """A point in a worker's stream; its event is used again when nobody holds it any more."""

@final
class WorkerClient:
    """One worker's session: registration and transfers. Connects, reconnects and registers again by itself."""

    def __new__(
        cls, socket: str, engine_id: str, rank: int, shard: int, layout: EngineLayout
    ) -> Self: ...
    def identify(self, engine_key: bytes, namespace: bytes) -> None:
        """Tell which engine this worker is of; the first call starts the session. The same values again change nothing."""
    def mark(self, stream: int) -> StreamPoint | None:
        """The end of what is in the CUDA stream now, for transfers that start after it; None for memory of the host, and when too many points are in use."""
    def save(
        self,
        request_id: str,
        hashes: bytes,
        block_ids: Sequence[int],
        point: StreamPoint | None = None,
        after: bytes | None = None,
    ) -> int | None:
        """Start a save, of memory on a GPU once the stream has come to ``point``. ``after`` has the hash of the block before each, for the first block of a prompt its own; None where that is not known. Its transfer id, or None when there is no daemon to save to, or no point on a GPU (nothing to wait for)."""
    def load(
        self,
        request_id: str,
        lease_id: int,
        boot_id: int,
        first: int,
        block_ids: Sequence[int],
        point: StreamPoint | None = None,
    ) -> int:
        """Start a load, into memory on a GPU once the stream has come to ``point``; its transfer id. A load that cannot start ends as failed at the next ``poll``."""
    def revoke(self, transfer_id: int) -> bool:
        """Take the grant back. True: the blocks are free now. False: a copy is under way, wait for its end in ``poll``."""
    def poll(self) -> list[TransferEnd]:
        """The transfers that ended since the last call. Each transfer ends exactly once, and only when nobody can touch its blocks any more."""
    def in_flight(self) -> int: ...
    def attached(self) -> bool: ...
    def last_error(self) -> str | None:
        """Why the worker is not registered, when the daemon refused it."""
    def counters(self) -> dict[str, int]: ...
    def close(self) -> None: ...
