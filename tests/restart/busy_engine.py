"""An engine in a process of its own that saves, looks up and loads until it is killed.

Argument: the daemon's socket. It says ``busy`` once it has begun; it leaves every third lease held.
"""

import sys
from itertools import count
from pathlib import Path

from tests.fence.attached_engine import fresh_hashes
from tests.fence.engine_memory import EngineMemory, Shape
from tests.restart.connected_engine import ConnectedEngine

SHAPE = Shape(num_blocks=64, layers=8, segment_bytes=32 << 10)


def main() -> None:
    """Never returns."""
    with ConnectedEngine(Path(sys.argv[1]), EngineMemory(SHAPE)) as engine:
        engine.wait_attached()
        for round_ in count():
            hashes = fresh_hashes(32)
            engine.memory.refill(range(32))
            engine.save(hashes, range(32))
            if round_ % 3 == 0:
                engine.hits(engine.request(hashes))
            assert engine.load(hashes, range(32, 64))
            if round_ == 0:
                print("busy", flush=True)


if __name__ == "__main__":
    main()
