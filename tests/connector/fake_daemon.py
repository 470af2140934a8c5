"""A daemon in memory: leases, grants and copies as in the protocol, at times that a test picks.

A block of a worker's memory is one object, the hash of what it holds, so that a copy at a wrong
moment shows as a wrong hash.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pegaflow.connector.metadata import EngineIdentity

HASH_BYTES = 32


@dataclass
class FakeLookup:
    state: str
    memory_blocks: int = 0
    ssd_blocks: int = 0
    remote_blocks: int = 0
    lease_id: int = 0
    boot_id: int = 0


@dataclass
class FakeEnd:
    transfer_id: int
    request_id: str
    kind: str
    ok: bool
    blocks: int
    bytes: int = 0
    seconds: float = 0.001
    message: str = ""


@dataclass
class Lease:
    keys: list[bytes]
    waiting_ranks: set[int]
    ended: str = ""
    """How it ended; empty while it is held."""

    def end(self, how: str) -> None:
        if not self.ended:
            self.ended = how


@dataclass
class Transfer:
    id: int
    kind: str
    request_id: str
    keys: list[bytes]
    block_ids: list[int]
    lease: Lease | None = None
    taken: bool = False
    """A load's copy is under way."""


@dataclass
class FakeDaemon:
    """The store and its leases; ``shards`` pages make a block visible."""

    chance: random.Random
    workers: int
    shards: int
    pages: dict[bytes, dict[int, bytes]] = field(default_factory=dict)
    leases: dict[int, Lease] = field(default_factory=dict)
    boot_id: int = 1
    running: bool = True
    clients: list["FakeWorkerClient"] = field(default_factory=list)
    saved: list[tuple[str, bytes, bytes]] = field(default_factory=list)
    """(request, key, content) of all pages that were sealed."""
    followed: set[tuple[bytes, bytes]] = field(default_factory=set)
    """(key, key of the block before it) as saves said it."""

    def visible(self, key: bytes) -> bool:
        return len(self.pages.get(key, {})) == self.shards

    def lose(self) -> None:
        """Kill -9: leases are void and transfers end undone; the pages survive."""
        self.running = False
        for lease in self.leases.values():
            lease.end("daemon")
        for client in self.clients:
            client.lose()

    def restart(self) -> None:
        self.boot_id += 1
        self.running = True

    def held_leases(self) -> list[Lease]:
        return [lease for lease in self.leases.values() if not lease.ended]


class FakeSchedulerClient:
    def __init__(self, daemon: FakeDaemon, identity: EngineIdentity) -> None:
        self.daemon = daemon
        self.identity = identity
        self.answers: dict[str, tuple[bytes, int]] = {}
        self.taken: set[int] = set()
        self.released: list[int] = []
        self.calls = 0
        self.slow = 0.2
        """How often an answer is not there yet."""
        self.fetching = 0.0
        """How often blocks are on their way from a slower tier."""

    def lookup(self, request_id: str, hashes: bytes, hash_bytes: int, wait_s: float) -> FakeLookup:
        self.calls += 1
        daemon = self.daemon
        if not daemon.running:
            self.forget(request_id)
            return FakeLookup("off")
        known = self.answers.get(request_id)
        if known is not None and known[0] != hashes:
            self.forget(request_id)
            known = None
        if known is None:
            if daemon.chance.random() < self.slow:
                return FakeLookup("ask_again")
            if daemon.chance.random() < self.fetching:
                return FakeLookup("pending")
            keys = [hashes[at : at + hash_bytes] for at in range(0, len(hashes), hash_bytes)]
            count = 0
            while count < len(keys) and daemon.visible(keys[count]):
                count += 1
            lease_id = 0
            if count:
                lease_id = len(daemon.leases) + 1
                daemon.leases[lease_id] = Lease(keys[:count], set(range(daemon.workers)))
            self.answers[request_id] = (hashes, lease_id)
        lease_id = self.answers[request_id][1]
        found = len(daemon.leases[lease_id].keys) if lease_id else 0
        return FakeLookup("ready", memory_blocks=found, lease_id=lease_id, boot_id=daemon.boot_id)

    def set_block_compute(self, seconds_per_block: float) -> None:
        assert seconds_per_block > 0

    def take(self, request_id: str) -> tuple[int, int] | None:
        _, lease_id = self.answers.pop(request_id, (b"", 0))
        if not lease_id:
            return None
        self.taken.add(lease_id)
        return lease_id, self.daemon.boot_id

    def forget(self, request_id: str) -> None:
        _, lease_id = self.answers.pop(request_id, (b"", 0))
        if lease_id:
            self.daemon.leases[lease_id].end("forgotten")

    def release(self, lease_id: int, boot_id: int) -> None:
        assert lease_id in self.taken, "a lease is released that was not taken"
        assert lease_id not in self.released, "a lease is released twice"
        self.released.append(lease_id)
        self.daemon.leases[lease_id].end("released")

    def attached(self) -> bool:
        return self.daemon.running

    def close(self) -> None:
        for request_id in list(self.answers):
            self.forget(request_id)


class FakeWorkerClient:
    """One worker's client and the daemon's copies for it; ``memory`` is the worker's blocks."""

    def __init__(self, daemon: FakeDaemon, rank: int, shard: int, memory: Any) -> None:
        self.daemon = daemon
        self.rank = rank
        self.shard = shard
        self.memory = memory
        self.transfers: dict[int, Transfer] = {}
        self.ends: list[FakeEnd] = []
        self.marks: list[int] = []
        """The streams of which a point was asked for."""
        self.next_id = 0
        self.identity: tuple[bytes, bytes] | None = None
        self.fails = 0.1
        """How often a copy fails."""
        daemon.clients.append(self)

    def identify(self, engine_key: bytes, namespace: bytes) -> None:
        self.identity = (engine_key, namespace)

    def mark(self, stream: int) -> int | None:
        self.marks.append(stream)
        return len(self.marks)

    def save(
        self,
        request_id: str,
        hashes: bytes,
        block_ids: Sequence[int],
        point: int | None,
        after: bytes,
    ) -> int | None:
        assert point == len(self.marks), "it waits for another step than its own"
        if not self.daemon.running:
            return None
        keys = _split(hashes)
        self.daemon.followed.update(zip(keys, _split(after), strict=True))
        return self._start("save", request_id, keys, list(block_ids), None)

    def load(
        self,
        request_id: str,
        lease_id: int,
        boot_id: int,
        first: int,
        block_ids: Sequence[int],
        point: int | None,
    ) -> int:
        assert point == len(self.marks), "it waits for another step than its own"
        lease = self.daemon.leases[lease_id]
        keys = lease.keys[first : first + len(block_ids)]
        assert len(keys) == len(block_ids), "more blocks than the lease has"
        assert self.rank in lease.waiting_ranks, "a rank loads a lease twice"
        transfer_id = self._start("load", request_id, keys, list(block_ids), lease)
        if lease.ended or boot_id != self.daemon.boot_id or not self.daemon.running:
            self._end(self.transfers[transfer_id], ok=False)
        elif self.daemon.chance.random() < self.fails:
            self.transfers[transfer_id].lease = None  # the daemon never heard of it
            self._end(self.transfers[transfer_id], ok=False)
        return transfer_id

    def revoke(self, transfer_id: int) -> bool:
        transfer = self.transfers.get(transfer_id)
        if transfer is None:
            return True
        if transfer.taken:
            return False
        self._end(transfer, ok=False)
        if self.daemon.chance.random() < 0.5:
            self.ends.pop()  # whether a revoked transfer is polled as well must not matter
        return True

    def poll(self) -> list[FakeEnd]:
        ends, self.ends = self.ends, []
        return ends

    def last_error(self) -> str | None:
        return None

    def close(self) -> None:
        for transfer in list(self.transfers.values()):
            self._end(transfer, ok=False)

    def advance(self) -> None:
        """The daemon goes on with some of the transfers."""
        for transfer in list(self.transfers.values()):
            if self.daemon.running and self.daemon.chance.random() < 0.5:
                self._advance(transfer)

    def lose(self) -> None:
        for transfer in list(self.transfers.values()):
            self._end(transfer, ok=False)

    def _start(
        self, kind: str, request: str, keys: list[bytes], blocks: list[int], lease: Lease | None
    ) -> int:
        assert len(keys) == len(blocks)
        self.next_id += 1
        self.transfers[self.next_id] = Transfer(self.next_id, kind, request, keys, blocks, lease)
        return self.next_id

    def _advance(self, transfer: Transfer) -> None:
        if transfer.kind == "load" and not transfer.taken:
            transfer.taken = True
            return
        ok = self.daemon.chance.random() >= self.fails
        if ok:
            for key, block_id in zip(transfer.keys, transfer.block_ids, strict=True):
                if transfer.kind == "load":
                    content = self.daemon.pages[key][self.shard]
                    self.memory.load(self.rank, transfer.request_id, block_id, content)
                else:
                    content = self.memory.read(self.rank, block_id)
                    page = self.daemon.pages.setdefault(key, {})
                    if self.shard not in page:
                        page[self.shard] = content
                        self.daemon.saved.append((transfer.request_id, key, content))
        self._end(transfer, ok)

    def _end(self, transfer: Transfer, ok: bool) -> None:
        del self.transfers[transfer.id]
        if transfer.lease is not None:
            transfer.lease.waiting_ranks.discard(self.rank)
            if not transfer.lease.waiting_ranks:
                transfer.lease.end("loaded")
        self.ends.append(
            FakeEnd(transfer.id, transfer.request_id, transfer.kind, ok, len(transfer.block_ids))
        )


def _split(hashes: bytes) -> list[bytes]:
    return [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]
