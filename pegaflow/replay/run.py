"""Engines side by side, each with its requests, at the times that the trace says."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from queue import Full, Queue
from typing import Final

from pegaflow.errors import PegaflowError
from pegaflow.planning.lines import Request
from pegaflow.replay.content import Content
from pegaflow.replay.engine import ReplayEngine, Stopped
from pegaflow.replay.report import ReplayReport, Tally
from pegaflow.replay.watch import Watch

_WAITING: Final = 256
"""Requests that wait for one engine before the trace is read on."""
_LOOK_S: Final = 0.1


@dataclass(frozen=True)
class ReplayPlan:
    """How a trace is replayed."""

    engines: int
    speed: float
    """Times the trace's own; 0: each request as soon as its engine is free."""
    block_bytes: int
    engine_blocks: int
    """Blocks that one request may have; longer ones are cut."""
    patience_s: float = 60.0
    """How long a daemon may give no answer."""


def replay(
    socket: str, plan: ReplayPlan, requests: Iterable[Request], say: Callable[[str], None]
) -> ReplayReport:
    """Replay ``requests`` against the daemon at ``socket``; every loaded byte is compared.

    The engines share a namespace that no other run has, and take the requests in turn. Where
    ``requests`` raises, nobody waits any more, or the daemon is gone for too long, the report has
    what was measured until then. Raises ``PegaflowError`` when an engine cannot attach.
    """
    content, namespace, stop = Content(plan.block_bytes), os.urandom(32), threading.Event()
    with ExitStack() as stack:
        engines = [
            stack.enter_context(
                closing(ReplayEngine(socket, namespace, content, plan.engine_blocks, stop))
            )
            for _ in range(plan.engines)
        ]
        lanes = [_Lane(engine, plan.speed, stop) for engine in engines]
        watch = Watch(engines, plan.patience_s, say)
        began = time.monotonic()
        for lane in lanes:
            lane.start(began)
        ended: KeyboardInterrupt | PegaflowError | None = None
        try:
            for number, request in enumerate(requests):
                lanes[number % len(lanes)].put(request, watch)
            for lane in lanes:
                lane.put(None, watch)
            for lane in lanes:
                lane.join(watch)
        except (KeyboardInterrupt, PegaflowError) as error:
            ended = error
        finally:
            stop.set()
            for lane in lanes:
                lane.end()
        seconds = time.monotonic() - began
    tally = Tally()
    for engine in engines:
        tally.add(engine.tally)
    return ReplayReport(plan.engines, plan.speed, plan.block_bytes, seconds, tally, ended)


class _Lane:
    """An engine, and the thread that it serves on."""

    def __init__(self, engine: ReplayEngine, speed: float, stop: threading.Event) -> None:
        self._engine = engine
        self._queue = Queue[Request | None](_WAITING)
        self._speed = speed
        self._stop = stop
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._began = 0.0

    def start(self, began: float) -> None:
        """Serve what comes; the trace's time 0 is ``began``."""
        self._began = began
        self._thread.start()

    def put(self, request: Request | None, watch: Watch) -> None:
        """Hand out a request, or the end; ``watch`` looks while there is no room for it.

        Raises ``PegaflowError`` when the engine has ended.
        """
        while True:
            self._look(watch)
            with suppress(Full):
                self._queue.put(request, timeout=_LOOK_S)
                return

    def join(self, watch: Watch) -> None:
        """Wait until all that came is served; ``watch`` looks meanwhile.

        Raises ``PegaflowError`` when the engine has ended before.
        """
        while self._thread.is_alive():
            self._look(watch)
            self._thread.join(_LOOK_S)
        self._look(watch)

    def end(self) -> None:
        """Wait until the thread has seen that it is to stop."""
        with suppress(Full):
            # It may wait for a request.
            self._queue.put_nowait(None)
        self._thread.join()

    def _look(self, watch: Watch) -> None:
        watch.look()
        if self._error is not None:
            raise PegaflowError(f"a simulated engine ended: {self._error!r}") from self._error

    def _run(self) -> None:
        try:
            while (request := self._queue.get()) is not None:
                self._serve(request)
        except Stopped:
            pass
        except Exception as error:
            self._error = error

    def _serve(self, request: Request) -> None:
        if self._speed:
            due = self._began + request.time_s / self._speed
            wait_s = min(max(due - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
            if self._stop.wait(wait_s):
                raise Stopped
            self._engine.tally.late_ms.append((time.monotonic() - due) * 1e3)
        elif self._stop.is_set():
            raise Stopped
        self._engine.serve(request.names)
