"""A scheduler side over a stand-in for the daemon."""

import random
from collections.abc import Callable
from typing import Any

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.metadata import EngineIdentity, SaveOrder, WorkerLayout, WorkerReport
from pegaflow.connector.scheduler.half import SchedulerSide
from pegaflow.connector.scheduler.membership import Membership
from pegaflow.connector.scheduler.patience import Patience
from tests.connector.fake_daemon import FakeDaemon, FakeSchedulerClient
from tests.connector.fake_request import FakeRequest
from tests.connector.sample_facts import facts
from tests.connector.simulated_request import AllocatedIds, Said, Scheduled

TOKENS = 32


class Rig:
    def __init__(
        self,
        *,
        refusal: str | None = None,
        saves: bool = True,
        loads: bool = True,
        joined: bool = True,
        adapter_of: Callable[[Any], bytes | None] = lambda adapter: None,
        socket: str = "/no/such/socket",
    ) -> None:
        self.daemon = FakeDaemon(random.Random(0), workers=1, shards=1)
        self.now = 0.0
        self.identities: list[EngineIdentity] = []
        patience = Patience(lambda: self.now)
        self.membership = Membership(
            facts(),
            refusal=refusal,
            namespace_of=lambda layouts: bytes(32),
            open_client=self._open,
            attachment=Attachment(socket),
            patience=patience,
        )
        self.side = SchedulerSide(
            facts(),
            self.membership,
            patience,
            saves=saves,
            loads=loads,
            adapter_of=adapter_of,
        )
        if joined:
            self.join()

    def _open(self, identity: EngineIdentity) -> Any:
        self.identities.append(identity)
        self.client = FakeSchedulerClient(self.daemon, identity)
        self.client.slow = 0.0
        return self.client

    def join(self, layout: WorkerLayout | None = None) -> None:
        report = WorkerReport(layouts={0: layout or WorkerLayout("layout", 1)})
        self.side.workers_said(Said(kv_connector_worker_meta=report))

    def cache(self, *hashes: bytes) -> None:
        for hash in hashes:
            self.daemon.pages[hash] = {0: hash}

    def load(self, request: FakeRequest, blocks: list[int], local_tokens: int = 0) -> int:
        """Match and allocate: the tokens that are loaded."""
        matched, _ = self.side.match(request, local_tokens)
        assert matched is not None
        self.side.allocated(request, AllocatedIds(blocks), matched)
        return matched

    def saved(self, step: Scheduled) -> list[tuple[bytes, int]]:
        """The (hash, block id) pairs that are saved in a step."""
        return [pair for order in self.side.plan(step).saves for pair in pairs(order)]


def pairs(order: SaveOrder) -> list[tuple[bytes, int]]:
    return list(zip(split(order.hashes), order.block_ids, strict=True))


def split(hashes: bytes) -> list[bytes]:
    return [hashes[at : at + 32] for at in range(0, len(hashes), 32)]


def fail(*args: object) -> Any:
    """A call of the client that breaks."""
    raise RuntimeError("broken")
