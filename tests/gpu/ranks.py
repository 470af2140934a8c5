"""An engine of several workers, in processes and on GPUs of their own where there are so many."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from pegaflow._native import SchedulerClient
from tests.engine.closing import Closing
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import look_up
from tests.fence.engine_memory import Shape
from tests.gpu.line_process import LineProcess


class Ranks(Closing):
    """The scheduler side in this process, and its workers.

    With ``shards`` below ``workers`` several ranks have equal bytes, as those of MLA models do.
    """

    def __init__(
        self,
        socket: Path,
        shape: Shape,
        environment: Mapping[str, str],
        *,
        workers: int,
        shards: int,
        gpus: int,
        namespace: bytes | None = None,
    ) -> None:
        self.namespace = namespace or os.urandom(32)
        self._requests = 0
        key = os.urandom(16)
        self.scheduler = SchedulerClient(
            str(socket), key, "test-engine", self.namespace, "random-bytes", workers, shards
        )
        self.workers = [
            LineProcess(
                "tests.gpu.rank_process",
                [
                    str(socket),
                    json.dumps(astuple(shape)),
                    self.namespace.hex(),
                    key.hex(),
                    str(rank),
                    str(rank * shards // workers),
                ],
                {**environment, "CUDA_VISIBLE_DEVICES": str(rank % gpus)},
            )
            for rank in range(workers)
        ]
        wait_until(
            lambda: self.scheduler.attached() and all(w.ask("attached") for w in self.workers),
            "all ranks attach",
            60,
        )

    def hit_count(self, hashes: Sequence[bytes]) -> int:
        """Blocks of ``hashes`` that are cached, from the first on; holds nothing afterwards."""
        request, answer = look_up(self.scheduler, self._new_request(), hashes)
        self.scheduler.forget(request)
        return answer.memory_blocks

    def load(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> None:
        """Load into the same blocks of each rank."""
        request, answer = look_up(self.scheduler, self._new_request(), hashes)
        assert answer.memory_blocks == len(hashes), "not all blocks are cached"
        lease = self.scheduler.take(request)
        assert lease is not None
        for worker in self.workers:
            end = worker.ask("load", lease=lease[0], boot=lease[1], blocks=list(blocks))
            assert end["ok"], end

    def close(self) -> None:
        """Leave the daemon; the workers are killed."""
        self.scheduler.close()
        for worker in self.workers:
            worker.close()

    def _new_request(self) -> str:
        self._requests += 1
        return f"request-{self._requests}"
