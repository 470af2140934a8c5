"""What the scheduler side remembers of each request, from its first lookup to its last transfer."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pegaflow.connector.interface import Request


@dataclass(frozen=True)
class Hits:
    """Blocks that a lookup found, by the tier that had them."""

    memory: int = 0
    ssd: int = 0
    remote: int = 0

    @property
    def blocks(self) -> int:
        """All of them."""
        return self.memory + self.ssd + self.remote


@dataclass
class LoadInFlight:
    """A load that vLLM waits for."""

    lease_id: int
    boot_id: int
    block_ids: tuple[int, ...]
    failed: bool = False


@dataclass
class Record:
    """One request. Blocks are counted from the request's first token on."""

    request: Request
    adapter: bytes | None = b""
    """What the weights of its adapter are; empty without one, None when that is not known."""
    local_blocks: int = 0
    """vLLM's own prefix hit at the last lookup."""
    hits: Hits = Hits()
    """The answer of the last lookup: blocks beyond ``local_blocks``."""
    asked: bool = False
    """The client holds a lookup for this request."""
    waiting_since: float | None = None
    """When the request was first deferred for an answer, on the monotonic clock."""
    gave_up: bool = False
    """It was deferred long enough."""
    load: LoadInFlight | None = None
    load_failed: bool = False
    """A load failed: no further one until the request is preempted."""
    loaded: range = range(0)
    """Blocks that came from the cache and need not be offered to it."""
    block_ids: list[int] = field(default_factory=list)
    next_save: int = 0
    """The first block that was not offered to the cache yet."""
    preemptions: int = 0
    """As many of the request's preemptions as this record has seen."""
    open_saves: dict[int, int] = field(default_factory=dict)
    """By serial: workers that may still read the request's blocks."""
    finished: bool = False
    _keys: dict[bytes, bytes] = field(default_factory=dict)

    def must_compute(self) -> bool:
        """Nothing of the request may be loaded."""
        return self.load_failed or self.request.skip_reading_prefix_cache

    def keys(self, first: int, last: int) -> list[bytes]:
        """What the blocks from ``first`` to before ``last`` are cached under, as far as known.

        vLLM's hash names an adapter by its name (and path, 0.31 on); what it contains is added.
        """
        hashes = self.request.block_hashes[first:last]
        if self.adapter is None:
            return []
        if not self.adapter:
            return list(hashes)
        return [self._with_adapter(self.adapter, hash) for hash in hashes]

    def replace_blocks(self, block_ids: Sequence[Sequence[int]] | None) -> None:
        """These are all the request's blocks; none of them was offered."""
        self.block_ids = []
        self.next_save = 0
        self.add_blocks(block_ids)

    def add_blocks(self, block_ids: Sequence[Sequence[int]] | None) -> None:
        """The request has these blocks in addition: one list for each cache group."""
        if block_ids:
            self.block_ids.extend(block_ids[0])

    def see_preemption(self) -> bool:
        """Whether the request has lost its blocks since the last call; forgets them then."""
        if self.request.num_preemptions == self.preemptions:
            return False
        self.preemptions = self.request.num_preemptions
        self.load_failed = False
        self.loaded = range(0)
        self.replace_blocks(None)
        return True

    def _with_adapter(self, adapter: bytes, hash: bytes) -> bytes:
        if hash not in self._keys:
            self._keys[hash] = hashlib.sha256(adapter + hash).digest()[: len(hash)]
        return self._keys[hash]


class Tracker:
    """The records of all requests that are known to vLLM or still have a transfer."""

    def __init__(self, adapter_of: Callable[[Any], bytes | None]) -> None:
        self._adapter_of = adapter_of
        self._records: dict[str, Record] = {}
        self._saving: dict[int, Record] = {}
        self._preempted: set[str] = set()

    def __len__(self) -> int:
        return len(self._records)

    def of(self, request: Request) -> Record:
        """The record of ``request``, new at the first call."""
        record = self._records.get(request.request_id)
        if record is None:
            record = Record(
                request,
                adapter=self._adapter_of(request.lora_request) if request.lora_request else b"",
                preemptions=request.num_preemptions,
            )
            self._records[request.request_id] = record
        return record

    def find(self, request_id: str) -> Record | None:
        """The record of a request, if there is one."""
        return self._records.get(request_id)

    def drop(self, record: Record) -> None:
        """Forget a request."""
        self._forget_saves(record)
        self._records.pop(record.request.request_id, None)

    def open_save(self, record: Record, serial: int, workers: int) -> None:
        """A save order goes out to ``workers`` workers."""
        record.open_saves[serial] = workers
        self._saving[serial] = record

    def end_saves(self, ended: Mapping[int, int]) -> None:
        """Workers are done with these orders; orders that were forgotten are ignored."""
        for serial, workers in ended.items():
            record = self._saving.get(serial)
            if record is None:
                continue
            record.open_saves[serial] -= workers
            if record.open_saves[serial] <= 0:
                del record.open_saves[serial]
                del self._saving[serial]

    def see_preemption(self, record: Record) -> None:
        """Notice that the request has lost its blocks, if it has: nothing waits for its saves."""
        if record.see_preemption() and record.open_saves:
            self._preempted.add(record.request.request_id)
            self._forget_saves(record)

    def take_preempted(self) -> frozenset[str]:
        """Requests that have lost blocks of which saves may still run, once."""
        for record in list({id(one): one for one in self._saving.values()}.values()):
            self.see_preemption(record)
        preempted, self._preempted = frozenset(self._preempted), set()
        return preempted

    def fail_loads(self, block_ids: set[int]) -> None:
        """Loads into any of these blocks have failed."""
        for record in self._records.values():
            if record.load is not None and not block_ids.isdisjoint(record.load.block_ids):
                record.load.failed = True

    def has_transfers(self) -> bool:
        """Whether any block may still be read or written by the daemon."""
        loading = any(record.load is not None for record in self._records.values())
        return loading or bool(self._saving)

    def _forget_saves(self, record: Record) -> None:
        for serial in record.open_saves:
            self._saving.pop(serial, None)
        record.open_saves.clear()
