"""vLLM's scheduler and model runner, as far as a connector can tell them from the real ones.

It asserts what vLLM asserts of a connector, and that no request is ever computed on a block that
does not hold the KV of its tokens.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pegaflow.connector.metadata import StepPlan, WorkerReport
from pegaflow.connector.scheduler.half import SchedulerSide
from pegaflow.connector.worker.half import WorkerSide
from tests.connector.simulated_pool import BlockPool
from tests.connector.simulated_request import (
    BLOCK_TOKENS,
    AllocatedIds,
    NewData,
    Said,
    Scheduled,
    SimRequest,
)


@dataclass
class Work:
    """What a step computes of one request."""

    request: SimRequest
    preemptions: int
    """Of the request when it was scheduled; one more makes the rest stale."""
    count: int
    """Tokens, the drafts among them."""
    drafts: int
    samples: bool
    """The step ends with a new token."""
    accepted: int = 0
    """Drafts that were right, known after the execution."""


@dataclass
class Step:
    """An executed step whose output is still to be processed."""

    said: Said
    work: list[Work]


@dataclass
class SimulatedEngine:
    """``depth`` steps are executed before the output of the first is processed."""

    chance: random.Random
    scheduler: SchedulerSide
    workers: list[WorkerSide]
    pool: BlockPool
    budget: int
    """Tokens of one step."""
    depth: int = 0
    drafts: int = 0
    """Speculated tokens of a decode step, at most."""
    requests: dict[str, SimRequest] = field(default_factory=dict)
    waiting: list[SimRequest] = field(default_factory=list)
    running: list[SimRequest] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    """What happened, for tests that must not pass for want of events."""
    meanwhile: Callable[[], None] = lambda: None
    """Called at several points of a step: what the daemon does then."""

    def __post_init__(self) -> None:
        self._received: set[str] = set()
        self._failed: set[str] = set()
        self._finished: set[str] = set()
        self._pending: list[Step] = []
        self._work: list[Work] = []
        self._reports: dict[tuple[str, str], list[WorkerSide]] = {}

    def add(self, request: SimRequest) -> None:
        self.requests[request.request_id] = request
        self.waiting.append(request)

    def abort(self, request: SimRequest) -> None:
        if request.status == "finished":
            return
        self.seen[f"abort while {request.status}"] += 1
        delayed = request.status == "loading" and request.request_id not in self._received
        self._received.discard(request.request_id)
        self._failed.discard(request.request_id)
        self._end(request, delayed)

    def preempt_all(self) -> None:
        """VLLM's ``reset_prefix_cache`` with running requests: outside of any step."""
        self.seen["preemption of all"] += bool(self.running)
        while self.running:
            self._preempt(self.running[-1])
        self.pool.forget_hits()

    def step(self) -> None:
        scheduled, plan = self._schedule()
        self._pending.append(self._execute(scheduled, plan))
        while len(self._pending) > self.depth:
            self._process(self._pending.pop(0))

    def is_idle(self) -> bool:
        return not self.requests and not self._finished

    # Scheduling

    def _schedule(self) -> tuple[Scheduled, StepPlan]:
        scheduled = Scheduled(finished_req_ids=self._finished)
        self._work = []
        budget, preempted = self.budget, False
        for request in list(self.running):
            drafts = self._drafts(request)
            count = min(self._unscheduled(request) + drafts, budget)
            if count <= 0 or request not in self.running:
                continue
            while request in self.running and not self.pool.allocate(
                request, request.computed + count
            ):
                self._preempt(self.running[-1])
                preempted = True
            if request in self.running:
                budget -= count
                self._say_cached(scheduled, request, resumed=False)
                self._schedule_work(scheduled, request, count, min(drafts, count - 1))
        if not preempted:
            self._admit(scheduled, budget)
        plan = self.scheduler.plan(scheduled)
        for work in self._work:
            work.request.computed += work.count
            work.request.placeholders += work.samples * (1 + work.drafts)
        self._finished = set()
        return scheduled, plan

    def _unscheduled(self, request: SimRequest) -> int:
        if request.known + request.placeholders >= len(request.tokens):
            return 0
        return request.known + request.placeholders - request.computed

    def _drafts(self, request: SimRequest) -> int:
        decodes = self._unscheduled(request) == 1 and request.computed >= request.prompt
        return self.chance.randint(0, self.drafts) if decodes else 0

    def _schedule_work(
        self, scheduled: Scheduled, request: SimRequest, count: int, drafts: int
    ) -> None:
        scheduled.num_scheduled_tokens[request.request_id] = count
        self.pool.publish(request, request.computed + count)
        samples = request.computed + count - drafts >= request.known + request.placeholders
        self._work.append(Work(request, request.num_preemptions, count, drafts, samples))

    def _admit(self, scheduled: Scheduled, budget: int) -> None:
        for request in sorted(self.waiting, key=lambda request: not request.blocks):
            if request.status == "loading" and not self._promote(request):
                continue
            if budget <= 0:
                break
            if self._is_stale(request):
                continue
            external, local, known_before = 0, list[int](), bool(request.blocks)
            computed = request.computed
            if not known_before:
                local = self.pool.hit(request)
                computed = len(local) * BLOCK_TOKENS
                matched, is_async = self.scheduler.match(request, computed)
                if matched is None:
                    self.seen["deferred"] += 1
                    continue
                assert is_async == (matched > 0), "vLLM asserts that a load is async or empty"
                assert computed + matched <= request.known, "vLLM asserts that hits are tokens"
                external = matched
                self.pool.adopt(request, local)
            wanted = computed + external
            if not external:
                wanted = min(request.known, computed + budget)
            fits = not external or self._has_room_to_finish(request)
            if not fits or not self.pool.allocate(request, wanted):
                if not known_before:
                    self.pool.release(request.request_id, request.blocks)
                    request.blocks = []
                break
            self.scheduler.allocated(request, AllocatedIds(request.blocks), external)
            request.computed = request.in_memory = computed
            if external:
                request.computed += external
                request.status = "loading"
                self.seen["load"] += 1
                continue
            budget -= wanted - computed
            self.waiting.remove(request)
            self.running.append(request)
            request.status = "running"
            self._say_admitted(scheduled, request)
            self._schedule_work(scheduled, request, wanted - computed, 0)

    def _has_room_to_finish(self, request: SimRequest) -> bool:
        """A load holds its blocks without progress, so it must not wait for another that does."""
        holders = [other for other in self.waiting if other.blocks and other is not request]
        missing = [
            -(-len(one.tokens) // BLOCK_TOKENS) - len(one.blocks) for one in (request, *holders)
        ]
        return sum(missing) <= self.pool.unused()

    def _is_stale(self, request: SimRequest) -> bool:
        """Output of before its preemption is still under way."""
        return any(work.request is request for step in self._pending for work in step.work)

    def _promote(self, request: SimRequest) -> bool:
        """A load has ended: whether the request can be scheduled now."""
        if request.request_id not in self._received:
            return False
        self._received.remove(request.request_id)
        request.status = "waiting"
        if request.request_id in self._failed:
            self._failed.remove(request.request_id)
            if request.computed == 0:
                self.pool.release(request.request_id, request.blocks)
                request.blocks = []
                return True
        self.pool.publish(request, request.computed)
        request.computed = min(request.computed, request.known - 1)
        request.in_memory = request.computed
        return True

    def _say_admitted(self, scheduled: Scheduled, request: SimRequest) -> None:
        # The V2 model runner is told of resumed requests as of new ones.
        resumed = request.num_preemptions > 0 and self.chance.random() < 0.5
        if resumed:
            self._say_cached(scheduled, request, resumed=True)
            return
        data = NewData(request.request_id, (list(request.blocks),), request.computed)
        scheduled.scheduled_new_reqs.append(data)
        request.at_workers = len(request.blocks)

    def _say_cached(self, scheduled: Scheduled, request: SimRequest, resumed: bool) -> None:
        data = scheduled.scheduled_cached_reqs
        new = request.blocks if resumed else request.blocks[request.at_workers :]
        request.at_workers = len(request.blocks)
        data.req_ids.append(request.request_id)
        data.new_block_ids.append((list(new),) if new else None)
        data.num_computed_tokens.append(request.computed)
        if resumed:
            data.resumed_req_ids.add(request.request_id)

    def _preempt(self, request: SimRequest) -> None:
        self.seen["preemption"] += 1
        self.running.remove(request)
        self._free(request)
        request.status = "waiting"
        request.computed = request.in_memory = request.placeholders = 0
        request.num_preemptions += 1
        self.waiting.insert(0, request)

    # Execution

    def _execute(self, scheduled: Scheduled, plan: StepPlan) -> Step:
        loading = {block for order in plan.loads for block in order.block_ids}
        for order in plan.saves:
            assert loading.isdisjoint(order.block_ids), "a block is saved in the step that loads it"
        self.seen["save"] += len(plan.saves)
        for worker in self.workers:
            worker.release(plan)
            worker.begin(plan)
            worker.start_loads()
        self.meanwhile()
        for work in self._work:
            self._forward(work)
        self.meanwhile()
        said = Said()
        for worker in self.workers:
            worker.start_saves()
            self.meanwhile()
            self._hear(said, worker, scheduled.finished_req_ids)
        return Step(said, self._work)

    def _forward(self, work: Work) -> None:
        request = work.request
        left = len(request.tokens) - request.in_memory - 2
        work.accepted = self.chance.randint(0, max(0, min(work.drafts, left)))
        self.pool.compute(request, work.count - work.drafts + work.accepted)

    def _hear(self, said: Said, worker: WorkerSide, finished: set[str]) -> None:
        sent, received = worker.collect(finished)
        self._aggregate("sent", sent, said.finished_sending, worker)
        self._aggregate("received", received, said.finished_recving, worker)
        said.invalid_block_ids |= worker.take_failed_blocks()
        report, before = worker.report(), said.kv_connector_worker_meta
        if isinstance(before, WorkerReport) and report is not None:
            report = before.aggregate(report)
        said.kv_connector_worker_meta = report or before

    def _aggregate(
        self, kind: str, ids: set[str], everywhere: set[str], worker: WorkerSide
    ) -> None:
        for request_id in ids:
            reporters = self._reports.setdefault((kind, request_id), [])
            assert worker not in reporters, f"a worker reports {request_id} as {kind} twice"
            reporters.append(worker)
            if len(reporters) == len(self.workers):
                everywhere.add(request_id)
                del self._reports[kind, request_id]

    # Output

    def _process(self, step: Step) -> None:
        self._invalidate(step.said.invalid_block_ids)
        for work in step.work:
            self._deliver(work)
        self.scheduler.workers_said(step.said)
        for request_id in step.said.finished_recving:
            request = self.requests[request_id]
            if request.status == "loading":
                self._received.add(request_id)
            else:
                assert request.status == "finished", "vLLM asserts that only loads are received"
                self._forget(request)
        for request_id in step.said.finished_sending:
            self.seen["sent"] += 1
            self._forget(self.requests[request_id])

    def _invalidate(self, invalid: set[int]) -> None:
        for request in self.waiting:
            if request.status == "loading":
                for at, block in enumerate(request.blocks[: request.computed // BLOCK_TOKENS]):
                    if block in invalid:
                        self.seen["failed load"] += 1
                        request.computed = at * BLOCK_TOKENS
                        self._failed.add(request.request_id)
                        break

    def _deliver(self, work: Work) -> None:
        request = work.request
        if request.status == "finished":
            return
        if request.num_preemptions == work.preemptions:
            request.computed -= work.drafts - work.accepted
            request.placeholders -= work.samples * (1 + work.drafts)
        request.known += work.samples * (1 + work.accepted)
        assert request.known <= len(request.tokens)
        if request.known == len(request.tokens):
            self.seen["finish"] += 1
            self._end(request, delayed=False)

    def _end(self, request: SimRequest, delayed: bool) -> None:
        for queue in (self.running, self.waiting):
            if request in queue:
                queue.remove(request)
        request.status = "finished"
        held = self.scheduler.finished(request)
        self._finished.add(request.request_id)
        if not delayed and not held:
            self._forget(request)

    def _forget(self, request: SimRequest) -> None:
        self._free(request)
        del self.requests[request.request_id]

    def _free(self, request: SimRequest) -> None:
        self.pool.release(request.request_id, request.blocks)
        request.blocks = []
