"""Engines side by side, each with its requests, at the times that the trace says."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from queue import Queue
from typing import Final

from pegaflow.errors import PegaflowError
from pegaflow.planning.lines import Request
from pegaflow.replay.content import Content
from pegaflow.replay.engine import ReplayEngine
from pegaflow.replay.report import ReplayReport, Tally

_WAITING: Final = 256
"""Requests that wait for one engine before the trace is read on."""
_PROGRESS_S: Final = 5.0


@dataclass(frozen=True)
class ReplayPlan:
    """How a trace is replayed."""

    engines: int
    speed: float
    """Times the trace's own; 0: each request as soon as its engine is free."""
    block_bytes: int
    engine_blocks: int
    """Blocks that one request may have; longer ones are cut."""


def replay(
    socket: str, plan: ReplayPlan, requests: Iterable[Request], progress: Callable[[str], None]
) -> ReplayReport:
    """Replay ``requests`` against the daemon at ``socket``; every loaded byte is compared.

    The engines share a namespace that no other run has, and take the requests in turn. Raises
    ``PegaflowError`` when an engine cannot attach.
    """
    content, namespace = Content(plan.block_bytes), os.urandom(32)
    with ExitStack() as stack:
        lanes = [
            _Lane(
                stack.enter_context(
                    closing(ReplayEngine(socket, namespace, content, plan.engine_blocks))
                ),
                plan.speed,
            )
            for _ in range(plan.engines)
        ]
        began = time.monotonic()
        for lane in lanes:
            lane.start(began)
        try:
            _hand_out(lanes, requests, began, progress)
        finally:
            for lane in lanes:
                lane.finish()
        seconds = time.monotonic() - began
    tally = Tally()
    for lane in lanes:
        tally.add(lane.engine.tally)
    return ReplayReport(plan.engines, plan.speed, plan.block_bytes, seconds, tally)


def _hand_out(
    lanes: list["_Lane"],
    requests: Iterable[Request],
    began: float,
    progress: Callable[[str], None],
) -> None:
    said = began
    for number, request in enumerate(requests):
        lanes[number % len(lanes)].queue.put(request)
        now = time.monotonic()
        if now - said >= _PROGRESS_S:
            said = now
            wrong = sum(lane.engine.tally.wrong_blocks for lane in lanes)
            progress(
                f"{number + 1:,} requests of the first {request.time_s:.0f} s handed out in "
                f"{now - began:.0f} s, {wrong} blocks wrong"
            )


class _Lane:
    """An engine, and the thread that it serves on."""

    def __init__(self, engine: ReplayEngine, speed: float) -> None:
        self.engine = engine
        self.queue = Queue[Request | None](_WAITING)
        self._speed = speed
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self, began: float) -> None:
        """Serve what comes; the trace's time 0 is ``began``."""
        self._thread = threading.Thread(target=self._run, args=(began,), daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait until all that came is served; raises what the engine raised."""
        self.queue.put(None)
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise PegaflowError(f"a simulated engine ended: {self._error!r}") from self._error

    def _run(self, began: float) -> None:
        while (request := self.queue.get()) is not None:
            if self._error is not None:
                # The queue is still emptied: nobody may wait for room in it.
                continue
            try:
                self._serve(request, began)
            except Exception as error:
                self._error = error

    def _serve(self, request: Request, began: float) -> None:
        if self._speed:
            due = began + request.time_s / self._speed
            time.sleep(max(due - time.monotonic(), 0.0))
            self.engine.tally.late_ms.append((time.monotonic() - due) * 1e3)
        self.engine.serve(request.names)
