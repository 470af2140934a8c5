"""The connector's scheduler side and a worker in this process, attached to a real daemon."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pegaflow._native import EngineLayout, SchedulerClient, WorkerClient
from pegaflow.connector.attachment import Attachment
from pegaflow.connector.metadata import EngineIdentity, LoadOrder, WorkerLayout, WorkerReport
from pegaflow.connector.scheduler.half import SchedulerSide
from pegaflow.connector.scheduler.membership import Membership
from pegaflow.connector.scheduler.patience import Patience
from tests.connector.fake_request import FakeRequest
from tests.connector.sample_facts import facts
from tests.connector.simulated_request import AllocatedIds, Said, Scheduled
from tests.engine.closing import Closing
from tests.engine.waiting import wait_until
from tests.fence.engine_memory import HASH_BYTES, EngineMemory

BLOCK_TOKENS: Final = 32

_ATTACH_S: Final = 10.0
_CALL_S: Final = 10.0


class ConnectedEngine(Closing):
    """Asks as vLLM's scheduler does, step by step; the worker is driven by the test."""

    def __init__(self, socket: Path, memory: EngineMemory) -> None:
        self.memory = memory
        self.namespace = os.urandom(32)
        self.match_seconds: list[float] = []
        """How long each call of ``match`` took."""
        self._socket = str(socket)
        self._requests = 0
        patience = Patience()
        membership = Membership(
            facts(),
            refusal=None,
            namespace_of=lambda layouts: self.namespace,
            open_client=self._open_client,
            attachment=Attachment(self._socket),
            patience=patience,
        )
        self.side = SchedulerSide(
            facts(),
            membership,
            patience,
            saves=True,
            loads=True,
            adapter_of=lambda adapter: None,
        )
        report = WorkerReport(layouts={0: WorkerLayout("layout", 1)})
        self.side.workers_said(Said(kv_connector_worker_meta=report))
        self.worker = WorkerClient(self._socket, "engine", 0, 0, EngineLayout(memory.layout_json()))
        identity = membership.identity
        assert identity is not None
        self.worker.identify(identity.engine_key, identity.namespace)

    def wait_attached(self) -> None:
        """Wait until the daemon knows both halves."""
        wait_until(
            lambda: self.client.attached() and self.worker.attached(),
            f"the engine attaches (the daemon says: {self.worker.last_error()})",
            _ATTACH_S,
        )

    def wait_answered(self) -> None:
        """Wait until lookups reach the daemon and are answered."""
        request = self.request([os.urandom(HASH_BYTES)])

        def is_answered() -> bool:
            key = request.block_hashes[0]
            return self.client.lookup(request.request_id, key, HASH_BYTES, 0.05).state == "ready"

        wait_until(is_answered, "the daemon answers a lookup", _CALL_S)
        self.client.forget(request.request_id)

    def request(self, hashes: Sequence[bytes]) -> FakeRequest:
        """A new request of so many full blocks."""
        self._requests += 1
        return FakeRequest(f"request-{self._requests}", list(hashes))

    def match(self, request: FakeRequest) -> int | None:
        """One call of vLLM's scheduler: blocks that can be loaded, or None for "ask again"."""
        began = time.perf_counter()
        tokens, _ = self.side.match(request, 0)
        self.match_seconds.append(time.perf_counter() - began)
        return None if tokens is None else tokens // BLOCK_TOKENS

    def step(self) -> None:
        """The end of a scheduler step."""
        self.side.plan(Scheduled())

    def hits(self, request: FakeRequest) -> int:
        """Ask in step after step until there is an answer, as vLLM does."""

        def answer() -> tuple[int] | None:
            blocks = self.match(request)
            self.step()
            return None if blocks is None else (blocks,)

        return wait_until(answer, "the lookup is answered", _CALL_S)[0]

    def hit_count(self, hashes: Sequence[bytes]) -> int:
        """Blocks that a new request would load; holds nothing afterwards."""
        request = self.request(hashes)
        blocks = self.hits(request)
        self.side.finished(request)
        return blocks

    def save(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> None:
        """Save ``blocks`` and wait for the end."""
        transfer = self.worker.save("save", b"".join(hashes), blocks)
        assert transfer is not None, "no daemon to save to"
        self._wait_end(transfer)

    def load(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> bool:
        """Look ``hashes`` up, which must all be cached, and load them: whether that worked."""
        request = self.request(hashes)
        found = self.hits(request)
        assert found == len(hashes), f"{found} of {len(hashes)} blocks are cached"
        self.side.allocated(request, AllocatedIds(list(blocks)), found * BLOCK_TOKENS)
        (order,) = self.side.plan(Scheduled()).loads
        return self.carry_out(request, order)

    def carry_out(self, request: FakeRequest, order: LoadOrder) -> bool:
        """Carry out the order of a request's load, and end the request: whether it was loaded."""
        transfer = self.worker.load(
            order.request_id, order.lease_id, order.boot_id, 0, order.block_ids
        )
        ok = self._wait_end(transfer)
        self.side.workers_said(
            Said(
                finished_recving={request.request_id},
                invalid_block_ids=set() if ok else set(order.block_ids),
            )
        )
        self.side.finished(request)
        return ok

    def close(self) -> None:
        """Leave the daemon."""
        self.worker.close()
        self.side.close()

    def _wait_end(self, transfer: int) -> bool:
        (end,) = wait_until(self.worker.poll, f"transfer {transfer} ends", _CALL_S)
        assert end.transfer_id == transfer
        return end.ok

    def _open_client(self, identity: EngineIdentity) -> SchedulerClient:
        self.client = SchedulerClient(
            self._socket, identity.engine_key, "engine", identity.namespace, "model", 1, 1
        )
        return self.client
