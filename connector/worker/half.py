"""The worker side: carries out the scheduler side's orders and reports their ends to vLLM."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.metadata import (
    EngineIdentity,
    LoadOrder,
    SaveOrder,
    StepPlan,
    WorkerLayout,
    WorkerReport,
)
from pegaflow.connector.stats import TransferStats
from pegaflow.connector.worker.completion import Completion
from pegaflow.connector.worker.transfer import Transfers

if TYPE_CHECKING:
    from pegaflow._native import WorkerClient


class WorkerSide:
    """The orders of one worker, from the step that brings them to the report of their ends.

    ``open_client`` opens a session for an identity; it is called after ``registered``.
    ``stream_of`` gives the stream on which vLLM launches work: a load waits for what was launched
    before it, which may still use its blocks, and a save for the step that computes its blocks.
    """

    def __init__(
        self,
        rank: int,
        open_client: Callable[[EngineIdentity], "WorkerClient"],
        attachment: Attachment,
        stream_of: Callable[[], int] = lambda: 0,
    ) -> None:
        self._rank = rank
        self._transfers = Transfers(open_client, attachment, stream_of)
        self._completion = Completion()
        self._layout: WorkerLayout | None = None
        self._asleep = False
        self._identity: EngineIdentity | None = None
        self._loads: tuple[LoadOrder, ...] = ()
        self._saves: tuple[SaveOrder, ...] = ()
        self._stats = TransferStats()

    def registered(self, layout: WorkerLayout) -> None:
        """The KV cache tensors were read; with a refusal all orders end at once, undone."""
        self._layout = layout

    def unregistered(self) -> None:
        """The memory of the KV cache goes away, with no transfer under way: leave the engine."""
        self._asleep = True
        self._transfers.close()

    def restored(self) -> None:
        """The memory is back where it was: the next step joins the engine again."""
        self._asleep = False

    def release(self, plan: StepPlan) -> None:
        """Before blocks of preempted requests are written again: end the saves that read them."""
        for transfer_id in self._completion.saves_of(plan.preempted):
            self._transfers.revoke(transfer_id)
            del self._completion.saves[transfer_id]

    def begin(self, plan: StepPlan) -> None:
        """A step begins: take its orders, and join the engine if that is new.

        Saves of the last step that vLLM did not let start are given up.
        """
        self.release(plan)
        for order in self._saves:
            self._completion.save_ended(order)
        self._completion.held |= plan.held
        self._loads, self._saves = plan.loads, plan.saves
        self._identity = plan.identity
        usable = self._layout is not None and not self._layout.refusal and not self._asleep
        if plan.identity is not None and usable:
            self._transfers.identify(plan.identity)

    def start_loads(self) -> None:
        """Start the step's loads; a second call in the same step does nothing."""
        orders, self._loads = self._loads, ()
        point = self._transfers.mark() if orders else None
        for order in orders:
            transfer_id = self._transfers.load(
                order.request_id, order.lease_id, order.boot_id, order.block_ids, point
            )
            if transfer_id is None:
                self._completion.load_ended(order, ok=False)
                self._stats.count("load_failure")
            else:
                self._completion.loads[transfer_id] = order

    def start_saves(self) -> None:
        """Start the step's saves, after its forward; a second call does nothing."""
        orders, self._saves = self._saves, ()
        point = self._transfers.mark() if orders else None
        for order in orders:
            share = self._share_of(order)
            transfer_id = self._transfers.save(share, point) if share.block_ids else None
            if transfer_id is None:
                self._completion.save_ended(order)
            else:
                self._completion.saves[transfer_id] = order

    def collect(self, finished: Collection[str]) -> tuple[set[str], set[str]]:
        """Requests to report as sent and as received.

        ``finished`` have ended since the last step: their loads are of no use any more.
        """
        for end in self._transfers.poll():
            self._completion.ended(end.transfer_id, end.ok)
            self._stats.ended(end)
        for transfer_id in self._completion.loads_of(finished):
            if self._transfers.revoke(transfer_id):
                self._completion.ended(transfer_id, ok=False)
        return self._completion.take_sent(), self._completion.take_received()

    def take_failed_blocks(self) -> set[int]:
        """Blocks that were to be loaded and were not."""
        return self._completion.take_failed_blocks()

    def take_stats(self) -> TransferStats | None:
        """What ended since the last call."""
        stats, self._stats = self._stats, TransferStats()
        return None if stats.is_empty() else stats

    def report(self) -> WorkerReport | None:
        """What the scheduler side is to know after this step."""
        ended = self._completion.take_ended_saves()
        unknown = self._identity is None and self._layout is not None
        layouts = {self._rank: self._layout} if unknown and self._layout is not None else {}
        return WorkerReport(ended, layouts) if ended or layouts else None

    def close(self) -> None:
        """End the session; nothing touches the worker's blocks afterwards."""
        self._transfers.close()

    def _share_of(self, order: SaveOrder) -> SaveOrder:
        """The blocks of an order that this worker saves: ranks with equal bytes divide them."""
        replicas = self._identity.replicas if self._identity is not None else 1
        if replicas == 1:
            return order
        size = len(order.hashes) // len(order.block_ids)
        mine = [
            at
            for at, block_id in enumerate(order.block_ids)
            if block_id % replicas == self._rank % replicas
        ]
        return replace(
            order,
            hashes=b"".join(order.hashes[at * size : (at + 1) * size] for at in mine),
            after=b"".join(order.after[at * size : (at + 1) * size] for at in mine),
            block_ids=tuple(order.block_ids[at] for at in mine),
        )
