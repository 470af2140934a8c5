"""One of many clients: looks cached hashes up at a steady rate, prints its latencies in us.

Arguments: socket, file of packed hashes, namespace in hex, calls a second, calls.
"""

import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import HASH_BYTES, EngineMemory, Shape

PAGE = Shape(num_blocks=1000, layers=1, segment_bytes=4 << 10)
"""Blocks as small as pages can be: the lookups are measured, not the copies."""

_WAIT_S = 0.05
"""The client's own deadline of a lookup."""


def timed_lookup(engine: AttachedEngine, packed: bytes) -> float:
    """One lookup as the connector makes it, in us; its lease is given back outside the time.

    One that is not answered within its deadline counts as the whole deadline.
    """
    request = engine.new_request()
    began = time.perf_counter_ns()
    answer = engine.scheduler.lookup(request, packed, HASH_BYTES, _WAIT_S)
    took = (time.perf_counter_ns() - began) / 1000
    engine.scheduler.forget(request)
    if answer.state != "ready":
        return max(took, _WAIT_S * 1e6)
    assert answer.memory_blocks * HASH_BYTES == len(packed), "not all blocks are cached"
    return took


def paced_lookups(
    engine: AttachedEngine, packed: bytes, interval_s: float, calls: int
) -> list[float]:
    """Lookups ``interval_s`` apart, from a random time within the first interval on.

    Clients that start together would otherwise all call at the same moments.
    """
    latencies = []
    due = time.perf_counter() + random.uniform(0, interval_s)
    for _ in range(calls):
        time.sleep(max(0.0, due - time.perf_counter()))
        latencies.append(timed_lookup(engine, packed))
        due += interval_s
    return latencies


def main(arguments: Sequence[str]) -> None:
    """Attach, say so, wait for a line, measure, print."""
    socket, hashes, namespace, rate, calls = arguments
    packed = Path(hashes).read_bytes()
    with AttachedEngine(Path(socket), EngineMemory(PAGE), bytes.fromhex(namespace)) as engine:
        print("attached", flush=True)
        sys.stdin.readline()
        print(json.dumps(paced_lookups(engine, packed, 1 / float(rate), int(calls))))


if __name__ == "__main__":
    main(sys.argv[1:])
