"""Both halves through random sequences of what vLLM and the daemon can do to them."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.facts import Parallelism
from pegaflow.connector.metadata import EngineIdentity, WorkerLayout
from pegaflow.connector.scheduler.half import SchedulerSide
from pegaflow.connector.scheduler.membership import Membership
from pegaflow.connector.scheduler.patience import Patience
from pegaflow.connector.worker.half import WorkerSide
from tests.connector.fake_daemon import FakeDaemon, FakeSchedulerClient, FakeWorkerClient
from tests.connector.sample_facts import facts
from tests.connector.simulated_engine import SimulatedEngine
from tests.connector.simulated_pool import BlockPool
from tests.connector.simulated_request import BLOCK_TOKENS, SimRequest


class Rig:
    """An engine with its connector and a daemon; all chances come from one seed."""

    def __init__(
        self,
        seed: int,
        *,
        workers: int = 1,
        replicas: int = 1,
        depth: int = 0,
        drafts: int = 0,
        loads: bool = True,
        blocks: int = 24,
    ) -> None:
        self.chance = random.Random(seed)
        self.daemon = FakeDaemon(self.chance, workers, workers // replicas)
        self.pool = BlockPool(blocks, workers)
        self.scheduler_clients: list[FakeSchedulerClient] = []
        parallelism = Parallelism(workers, 1, 1, 1, replicas, None)
        engine = replace(
            facts(block_tokens=BLOCK_TOKENS, hash_tokens=BLOCK_TOKENS), parallelism=parallelism
        )
        patience = Patience()
        membership = Membership(
            engine,
            refusal=None,
            namespace_of=lambda layouts: bytes(32),
            open_client=self._open_scheduler,
            attachment=Attachment("socket"),
            patience=patience,
        )
        self.scheduler = SchedulerSide(
            engine,
            membership,
            patience,
            saves=True,
            loads=loads,
            adapter_of=lambda adapter: None,
        )
        self.sides = [
            WorkerSide(rank, self._opener(rank), Attachment("socket")) for rank in range(workers)
        ]
        for side in self.sides:
            side.registered(WorkerLayout("layout", replicas))
        self.engine = SimulatedEngine(
            self.chance,
            self.scheduler,
            self.sides,
            self.pool,
            budget=24,
            depth=depth,
            drafts=drafts,
            meanwhile=self._advance,
        )
        self.prefixes = [self._tokens(self.chance.randint(4, 30)) for _ in range(3)]
        self.added = 0
        self.chained: set[tuple[bytes, bytes]] = set()
        """Each block's hash with that of the block before it, of the first with its own."""

    def _open_scheduler(self, identity: EngineIdentity) -> Any:
        client = FakeSchedulerClient(self.daemon, identity)
        client.fetching = 0.2
        self.scheduler_clients.append(client)
        return client

    def _opener(self, rank: int) -> Any:
        def open_client(identity: EngineIdentity) -> Any:
            return FakeWorkerClient(self.daemon, rank, rank // identity.replicas, self.pool)

        return open_client

    def _advance(self) -> None:
        for client in self.daemon.clients:
            client.advance()

    def _tokens(self, count: int) -> list[int]:
        return [self.chance.randrange(1000) for _ in range(count)]

    def add(self) -> None:
        prompt = self.chance.choice(self.prefixes) + self._tokens(self.chance.randint(0, 9))
        tokens = prompt + self._tokens(self.chance.randint(1, 20))
        self.added += 1
        skips = self.chance.random() < 0.05
        request = SimRequest(f"r{self.added}", tokens, len(prompt), skip_reading_prefix_cache=skips)
        before = [*request.hashes[:1], *request.hashes[:-1]]
        self.chained.update(zip(request.hashes, before, strict=True))
        self.engine.add(request)

    def run(self, events: int) -> None:
        for _ in range(events):
            event = self.chance.random()
            if event < 0.25:
                self.add()
            elif event < 0.32 and self.engine.requests:
                self.engine.abort(self.chance.choice(list(self.engine.requests.values())))
            elif event < 0.34:
                self.daemon.lose()
            elif event < 0.40 and not self.daemon.running:
                self.daemon.restart()
            elif event < 0.44:
                self.engine.preempt_all()
            else:
                self.engine.step()
        self.drain()

    def drain(self) -> None:
        if not self.daemon.running:
            self.daemon.restart()
        for _ in range(2000):
            if self.engine.is_idle():
                break
            self.engine.step()
        else:
            raise AssertionError(f"requests hang: {self.engine.requests}")
        for _ in range(3):
            self.engine.step()

    def assert_nothing_left(self) -> None:
        assert self.pool.used() == 0
        assert len(self.scheduler._tracker) == 0
        assert not self.scheduler._tracker.has_transfers()
        assert self.daemon.held_leases() == []
        for side in self.sides:
            done = side._completion
            assert not done.saves and not done.loads and not done.held
            assert not done.received and not done.failed_blocks and not done.ended_saves
        for client in self.scheduler_clients:
            assert client.answers == {}

    def assert_every_page_is_right(self) -> None:
        for key, page in self.daemon.pages.items():
            for content in page.values():
                assert content == key, "a page has the bytes of another block"
        assert self.daemon.followed <= self.chained, "a block follows another than was said"


SHAPES: Mapping[str, Mapping[str, Any]] = {
    "one worker": {},
    "async scheduling": {"depth": 1},
    "speculation": {"drafts": 3},
    "async speculation": {"depth": 1, "drafts": 3},
    "two workers": {"workers": 2},
    "two workers, async": {"workers": 2, "depth": 1, "drafts": 2},
    "replicas": {"workers": 2, "replicas": 2},
    "replicas, async": {"workers": 4, "replicas": 2, "depth": 1},
    "saves only": {"loads": False},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_bytes_are_right_and_nothing_is_left(shape: Mapping[str, Any], seed: int) -> None:
    rig = Rig(seed, **shape)
    rig.run(200)
    rig.assert_every_page_is_right()
    rig.assert_nothing_left()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_the_sequences_have_all_that_matters(shape: Mapping[str, Any]) -> None:
    seen: Counter[str] = Counter()
    saved = 0
    for seed in range(60):
        rig = Rig(seed, **shape)
        rig.run(200)
        seen += rig.engine.seen
        saved += len(rig.daemon.saved)
    assert saved > 100
    loading = ("load", "failed load", "deferred", "abort while loading")
    for event in (
        *(loading if shape.get("loads", True) else ()),
        "save",
        "sent",
        "finish",
        "preemption",
        "preemption of all",
        "abort while waiting",
        "abort while running",
    ):
        assert seen[event] > 0, f"{event} never happened"
