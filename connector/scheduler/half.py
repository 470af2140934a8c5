"""The scheduler side: answers vLLM's scheduler and gives the workers their orders."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.facts import EngineFacts
from pegaflow.connector.identity import next_epoch
from pegaflow.connector.interface import (
    AllocatedBlocks,
    ConnectorOutput,
    Request,
    SchedulerOutput,
)
from pegaflow.connector.metadata import (
    EngineIdentity,
    LoadOrder,
    SaveOrder,
    StepPlan,
    WorkerLayout,
    WorkerReport,
)
from pegaflow.connector.scheduler.lookups import Lookups
from pegaflow.connector.scheduler.patience import Patience
from pegaflow.connector.scheduler.planner import MAX_BLOCKS, blocks_to_save, chunks
from pegaflow.connector.scheduler.tracker import Hits, LoadInFlight, Record, Tracker
from pegaflow.connector.shield import log, report
from pegaflow.connector.stats import TransferStats

if TYPE_CHECKING:
    from pegaflow._native import SchedulerClient

_NO_HITS: Final = (0, False)


class SchedulerSide:
    """Lookups, load orders and save orders of one engine.

    ``namespace_of`` computes the namespace from the layout digests of the workers, by rank;
    ``open_client`` opens a session. Both are called once all workers have reported. With a
    ``refusal`` the engine serves without the cache. ``adapter_of`` says what the weights of a
    request's adapter are; None: they are not known and the request is not cached.
    """

    def __init__(
        self,
        facts: EngineFacts,
        *,
        refusal: str | None,
        saves: bool,
        loads: bool,
        namespace_of: Callable[[Mapping[int, str]], bytes],
        open_client: Callable[[EngineIdentity], "SchedulerClient"],
        adapter_of: Callable[[Any], bytes | None],
        attachment: Attachment,
        patience: Patience | None = None,
    ) -> None:
        self._facts = facts
        self._saves = saves
        self._loads = loads
        self._namespace_of = namespace_of
        self._open_client = open_client
        self._attachment = attachment
        self._patience = patience or Patience()
        self._tracker = Tracker(adapter_of)
        self._layouts: dict[int, WorkerLayout] = {}
        self._identity: EngineIdentity | None = None
        self._lookups: Lookups | None = None
        self._load_orders: list[LoadOrder] = []
        self._held: set[str] = set()
        self._next_serial = 0
        self._off = False
        if refusal is not None:
            self._turn_off(refusal)

    def match(self, request: Request, num_computed_tokens: int) -> tuple[int | None, bool]:
        """Tokens beyond ``num_computed_tokens`` that can be loaded, and whether that is async.

        None instead of a number: ask again in a later step.
        """
        local, rest = divmod(num_computed_tokens, self._facts.block_tokens)
        if self._off or not self._loads or rest:
            return _NO_HITS
        record = self._tracker.of(request)
        record.see_preemption()
        record.local_blocks = local
        record.hits = Hits()
        if record.load_failed or request.skip_reading_prefix_cache:
            self._forget_lookup(record)
            return _NO_HITS
        keys = record.keys(local, local + MAX_BLOCKS)
        if not keys:
            self._forget_lookup(record)
            return _NO_HITS
        if self._lookups is None:
            return (None, False) if self._patience.defers(record) else _NO_HITS
        hits = self._lookups.ask(record, b"".join(keys))
        if hits is None:
            return None, False
        record.hits = hits
        return hits.blocks * self._facts.block_tokens, hits.blocks > 0

    def allocated(
        self, request: Request, blocks: AllocatedBlocks, num_external_tokens: int
    ) -> None:
        """VLLM has blocks for the request: load if it wants external tokens, else forget them."""
        record = self._tracker.of(request)
        count = num_external_tokens // self._facts.block_tokens
        if self._lookups is None or not count:
            self._forget_lookup(record)
            return
        lease_id, boot_id = self._lookups.take(record)
        record.loaded = range(record.local_blocks, record.local_blocks + count)
        block_ids = tuple(blocks.get_block_ids()[0][record.loaded.start : record.loaded.stop])
        record.load = LoadInFlight(lease_id, boot_id, block_ids)
        self._load_orders.append(LoadOrder(request.request_id, lease_id, boot_id, block_ids))

    def hits_of(self, request: Request, num_external_tokens: int) -> Hits:
        """Where the tokens of the request's load come from, in tokens."""
        record = self._tracker.find(request.request_id)
        tokens = self._facts.block_tokens
        if record is None or record.hits.blocks * tokens != num_external_tokens:
            return Hits(memory=num_external_tokens)
        hits = record.hits
        return Hits(hits.memory * tokens, hits.ssd * tokens, hits.remote * tokens)

    def plan(self, output: SchedulerOutput) -> StepPlan:
        """The workers' orders for the step that vLLM has just scheduled."""
        preempted = self._see_preemptions()
        saves: list[SaveOrder] = []
        try:
            self._plan_saves(saves, output)
        except Exception as error:
            report("planning saves", error)
        plan = StepPlan(
            identity=self._identity,
            loads=tuple(self._load_orders),
            saves=tuple(saves),
            preempted=frozenset(preempted),
            held=frozenset(self._held),
        )
        self._load_orders.clear()
        self._held.clear()
        if self._lookups is not None:
            self._lookups.begin_step()
        return plan

    def finished(self, request: Request) -> bool:
        """The request has ended: whether vLLM must keep its blocks until the workers report it.

        A request that waits for its load is kept by vLLM itself until the load is reported; then
        it must not be reported as sent as well.
        """
        record = self._tracker.find(request.request_id)
        if record is None:
            return False
        self._forget_lookup(record)
        if record.load is not None:
            record.finished = True
            return True
        if record.open_saves:
            record.finished = True
            self._held.add(request.request_id)
            return True
        self._tracker.drop(record)
        return False

    def workers_said(self, output: ConnectorOutput) -> None:
        """What the workers reported of a step."""
        said = output.kv_connector_worker_meta
        if isinstance(said, WorkerReport):
            self._tracker.end_saves(said.ended_saves)
            self._see_layouts(said.layouts)
        if output.invalid_block_ids:
            for record in self._tracker.loading():
                assert record.load is not None
                if not output.invalid_block_ids.isdisjoint(record.load.block_ids):
                    record.load.failed = True
        for request_id in output.finished_recving or ():
            self._load_ended(request_id)
        for request_id in output.finished_sending or ():
            sent = self._tracker.find(request_id)
            if sent is not None and sent.finished:
                self._tracker.drop(sent)

    def reset(self) -> bool:
        """Begin a new epoch: nothing that was cached so far is found again by this engine.

        False while blocks are being loaded or saved.
        """
        if self._tracker.has_transfers():
            return False
        if self._identity is not None:
            self.close()
            self._open(next_epoch(self._identity.namespace, os.urandom(16)))
        return True

    def close(self) -> None:
        """End the session; its leases end with it."""
        if self._lookups is not None:
            self._lookups.close()
            self._lookups = None

    def take_stats(self) -> TransferStats | None:
        """What happened since the last call."""
        given_up, self._patience.given_up = self._patience.given_up, 0
        if not given_up:
            return None
        stats = TransferStats()
        stats.count("lookups_given_up", given_up)
        return stats

    def _forget_lookup(self, record: Record) -> None:
        record.waiting_since = None
        record.gave_up = False
        if self._lookups is not None:
            self._lookups.forget(record)

    def _see_preemptions(self) -> list[str]:
        preempted = []
        for record in self._tracker.saving():
            if record.see_preemption():
                self._tracker.forget_saves(record)
                preempted.append(record.request.request_id)
        return preempted

    def _plan_saves(self, orders: list[SaveOrder], output: SchedulerOutput) -> None:
        if self._off or not self._saves:
            return
        for new in output.scheduled_new_reqs:
            self._offer(orders, output, new.req_id, new.block_ids, True, new.num_computed_tokens)
        cached = output.scheduled_cached_reqs
        for request_id, block_ids, computed in zip(
            cached.req_ids, cached.new_block_ids, cached.num_computed_tokens, strict=True
        ):
            resumed = request_id in cached.resumed_req_ids
            self._offer(orders, output, request_id, block_ids, resumed, computed)

    def _offer(
        self,
        orders: list[SaveOrder],
        output: SchedulerOutput,
        request_id: str,
        block_ids: Sequence[Sequence[int]] | None,
        whole: bool,
        computed: int,
    ) -> None:
        """Take the request's new block ids (``whole``: all of them) and order what is full."""
        record = self._tracker.find(request_id)
        if record is None:
            return
        record.see_preemption()
        if whole:
            record.block_ids = []
            record.next_save = 0
        if block_ids:
            record.block_ids.extend(block_ids[0])
        if self._identity is None or record.adapter is None:
            return
        blocks = blocks_to_save(
            next_save=record.next_save,
            loaded=record.loaded,
            computed=computed,
            scheduled=output.num_scheduled_tokens.get(request_id, 0),
            block_tokens=self._facts.block_tokens,
            limit=min(len(record.request.block_hashes), len(record.block_ids)),
        )
        for chunk in chunks(blocks):
            serial = self._next_serial
            self._next_serial += 1
            orders.append(
                SaveOrder(
                    serial,
                    request_id,
                    b"".join(key for block in chunk for key in record.keys(block, block + 1)),
                    tuple(record.block_ids[block] for block in chunk),
                )
            )
            self._tracker.open_save(record, serial, self._facts.parallelism.workers)
        if blocks:
            record.next_save = blocks[-1] + 1

    def _load_ended(self, request_id: str) -> None:
        record = self._tracker.find(request_id)
        if record is None or record.load is None:
            return
        load, record.load = record.load, None
        if load.failed:
            record.load_failed = True
            record.loaded = range(0)
        if self._lookups is not None and (load.failed or record.finished):
            self._lookups.release(load.lease_id, load.boot_id)
        if record.finished:
            self._tracker.drop(record)

    def _see_layouts(self, layouts: Mapping[int, WorkerLayout]) -> None:
        if self._off or self._identity is not None:
            return
        self._layouts.update(layouts)
        for rank, layout in sorted(self._layouts.items()):
            if layout.refusal:
                self._turn_off(f"worker {rank}: {layout.refusal}")
                return
        if len(self._layouts) == self._facts.parallelism.workers:
            digests = {rank: layout.digest for rank, layout in self._layouts.items()}
            self._open(self._namespace_of(digests))

    def _open(self, namespace: bytes) -> None:
        replicas = math.gcd(*(layout.replicas for layout in self._layouts.values()))
        identity = EngineIdentity(os.urandom(16), namespace, replicas)
        client = self._open_client(identity)
        self._lookups = Lookups(client, self._facts.hash_bytes, self._patience, self._attachment)
        self._identity = identity

    def _turn_off(self, why: str) -> None:
        self._off = True
        log.warning("serving without the cache: %s", why)
