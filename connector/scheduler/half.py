"""The scheduler side: answers vLLM's scheduler and gives the workers their orders."""

from collections.abc import Callable
from typing import Any, Final

from pegaflow.connector.facts import EngineFacts
from pegaflow.connector.interface import (
    AllocatedBlocks,
    ConnectorOutput,
    Request,
    SchedulerOutput,
)
from pegaflow.connector.metadata import LoadOrder, SaveOrder, StepPlan, WorkerReport
from pegaflow.connector.scheduler.compute_time import ComputeTime
from pegaflow.connector.scheduler.membership import Membership
from pegaflow.connector.scheduler.patience import Patience
from pegaflow.connector.scheduler.planner import (
    MAX_BLOCKS,
    blocks_to_save,
    chunks,
    fills_no_block,
)
from pegaflow.connector.scheduler.tracker import Hits, LoadInFlight, Record, Tracker
from pegaflow.connector.shield import report
from pegaflow.connector.stats import TransferStats

_NO_HITS: Final = (0, False)


class SchedulerSide:
    """Lookups, load orders and save orders of one engine.

    ``adapter_of`` says what the weights of a request's adapter are; None: they are not known and
    the request is not cached.
    """

    def __init__(
        self,
        facts: EngineFacts,
        membership: Membership,
        patience: Patience,
        *,
        saves: bool,
        loads: bool,
        adapter_of: Callable[[Any], bytes | None],
    ) -> None:
        self._block_tokens = facts.block_tokens
        self._workers = facts.parallelism.workers
        self._membership = membership
        self._patience = patience
        self._saves = saves
        self._loads = loads
        self._tracker = Tracker(adapter_of)
        self._compute_time = ComputeTime()
        self._load_orders: list[LoadOrder] = []
        self._held: set[str] = set()
        self._next_serial = 0

    def match(self, request: Request, num_computed_tokens: int) -> tuple[int | None, bool]:
        """Tokens beyond ``num_computed_tokens`` that can be loaded, and whether that is async.

        None instead of a number: ask again in a later step.
        """
        local, rest = divmod(num_computed_tokens, self._block_tokens)
        if self._membership.is_refused or not self._loads or rest:
            return _NO_HITS
        record = self._tracker.of(request)
        self._tracker.see_preemption(record)
        record.local_blocks = local
        record.hits = Hits()
        keys = [] if record.must_compute() else record.keys(local, local + MAX_BLOCKS)
        if not keys:
            self._forget_lookup(record)
            return _NO_HITS
        if self._membership.lookups is None:
            return (None, False) if self._patience.defers(record) else _NO_HITS
        hits = self._membership.lookups.ask(record, keys)
        if hits is None:
            return None, False
        record.hits = hits
        return hits.blocks * self._block_tokens, hits.blocks > 0

    def allocated(
        self, request: Request, blocks: AllocatedBlocks, num_external_tokens: int
    ) -> None:
        """Load ``num_external_tokens`` into the request's blocks, or end its lookup if it is 0."""
        if self._membership.is_refused:
            return
        record = self._tracker.of(request)
        count = num_external_tokens // self._block_tokens
        if self._membership.lookups is None or not count:
            self._forget_lookup(record)
            return
        lease_id, boot_id = self._membership.lookups.take(record)
        record.loaded = range(record.local_blocks, record.local_blocks + count)
        block_ids = tuple(blocks.get_block_ids()[0][record.loaded.start : record.loaded.stop])
        record.load = LoadInFlight(lease_id, boot_id, block_ids)
        self._load_orders.append(LoadOrder(request.request_id, lease_id, boot_id, block_ids))

    def hits_of(self, request: Request, num_external_tokens: int) -> Hits:
        """Where the tokens of the request's load come from, in tokens."""
        record = self._tracker.find(request.request_id)
        tokens = self._block_tokens
        if record is None or record.hits.blocks * tokens != num_external_tokens:
            return Hits(memory=num_external_tokens)
        hits = record.hits
        return Hits(hits.memory * tokens, hits.ssd * tokens, hits.remote * tokens)

    def plan(self, output: SchedulerOutput) -> StepPlan:
        """The workers' orders for the step that vLLM has just scheduled."""
        preempted = self._tracker.take_preempted()
        saves: list[SaveOrder] = []
        try:
            self._plan_saves(saves, output)
            self._measure(sum(output.num_scheduled_tokens.values()))
        except Exception as error:
            report("reading a step", error)
        plan = StepPlan(
            identity=self._membership.identity,
            loads=tuple(self._load_orders),
            saves=tuple(saves),
            preempted=preempted,
            held=frozenset(self._held),
        )
        self._load_orders.clear()
        self._held.clear()
        if self._membership.lookups is not None:
            self._membership.lookups.begin_step()
        return plan

    def finished(self, request: Request) -> bool:
        """The request has ended: whether vLLM must keep its blocks until the workers report it.

        A request that waits for its load is kept by vLLM itself until the load is reported; then
        it must not be reported as sent as well.
        """
        record = self._tracker.find(request.request_id)
        if record is None:
            return False
        self._tracker.see_preemption(record)
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
            self._membership.see_layouts(said.layouts)
        if output.invalid_block_ids:
            self._tracker.fail_loads(output.invalid_block_ids)
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
        self._membership.begin_epoch()
        return True

    def close(self) -> None:
        """End the session; its leases end with it."""
        self._membership.close()

    def take_stats(self) -> TransferStats | None:
        """What happened since the last call."""
        given_up, self._patience.given_up = self._patience.given_up, 0
        if not given_up:
            return None
        stats = TransferStats()
        stats.count("lookups_given_up", given_up)
        return stats

    def _measure(self, tokens: int) -> None:
        """A step of so many tokens begins."""
        seconds = self._compute_time.planned(tokens)
        if seconds is not None and self._membership.lookups is not None:
            self._membership.lookups.set_compute_time(seconds * self._block_tokens)

    def _forget_lookup(self, record: Record) -> None:
        record.waiting_since = None
        record.gave_up = False
        if self._membership.lookups is not None:
            self._membership.lookups.forget(record)

    def _load_ended(self, request_id: str) -> None:
        record = self._tracker.find(request_id)
        if record is None or record.load is None:
            return
        load, record.load = record.load, None
        if load.failed:
            record.load_failed = True
            record.loaded = range(0)
        if self._membership.lookups is not None and (load.failed or record.finished):
            self._membership.lookups.release(load.lease_id, load.boot_id)
        if record.finished:
            self._tracker.drop(record)

    def _plan_saves(self, orders: list[SaveOrder], output: SchedulerOutput) -> None:
        """Add the step's save orders to ``orders``; those that are in it go out in any case."""
        if self._membership.is_refused or not self._saves:
            return
        for new in output.scheduled_new_reqs:
            record = self._tracker.find(new.req_id)
            if record is not None:
                self._tracker.see_preemption(record)
                record.replace_blocks(new.block_ids)
                computed = new.num_computed_tokens
                end = computed + output.num_scheduled_tokens.get(new.req_id, 0)
                self._offer(orders, record, computed, end)
        cached = output.scheduled_cached_reqs
        for request_id, block_ids, computed in zip(
            cached.req_ids, cached.new_block_ids, cached.num_computed_tokens, strict=True
        ):
            record = self._tracker.find(request_id)
            if record is None:
                continue
            end = computed + output.num_scheduled_tokens.get(request_id, 0)
            if block_ids is None and fills_no_block(
                record.next_save, computed, end, self._block_tokens
            ):
                continue  # most requests of a decode step
            if request_id in cached.resumed_req_ids:
                self._tracker.see_preemption(record)
                record.replace_blocks(block_ids)
            else:
                record.add_blocks(block_ids)
            self._offer(orders, record, computed, end)

    def _offer(self, orders: list[SaveOrder], record: Record, computed: int, end: int) -> None:
        if self._membership.identity is None or record.adapter is None:
            return
        blocks = blocks_to_save(
            next_save=record.next_save,
            loaded=record.loaded,
            computed=computed,
            end=end,
            block_tokens=self._block_tokens,
            limit=min(len(record.request.block_hashes), len(record.block_ids)),
        )
        for chunk in chunks(blocks):
            keys = b"".join(key for block in chunk for key in record.keys(block, block + 1))
            before = (max(block - 1, 0) for block in chunk)
            after = b"".join(key for block in before for key in record.keys(block, block + 1))
            block_ids = tuple(record.block_ids[block] for block in chunk)
            request_id = record.request.request_id
            orders.append(SaveOrder(self._next_serial, request_id, keys, after, block_ids))
            self._tracker.open_save(record, self._next_serial, self._workers)
            self._next_serial += 1
        if blocks:
            record.next_save = blocks[-1] + 1
