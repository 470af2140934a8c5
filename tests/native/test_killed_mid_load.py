"""An engine that is killed in the middle of a load: the load ends, and the next engine loads."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import EngineMemory, Shape
from tests.packaging.checkout import ROOT

_SHAPE: Final = Shape(num_blocks=256, layers=8, segment_bytes=32 << 10)
"""A load of half of the blocks is 32 MiB: most of its time is the copy's."""

_SOURCE: Final = range(128)
_TARGET: Final = range(128, 256)
_LIMIT_S: Final = 60.0


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    with DaemonProcess("128MiB") as daemon:
        yield daemon


def load_for_ever(socket: Path, namespace: bytes, hashes: list[bytes]) -> None:
    """The engine that is killed."""
    with AttachedEngine(socket, EngineMemory(_SHAPE), namespace) as engine:
        print("attached", flush=True)
        while True:
            engine.load(hashes, _TARGET)


def test_loads_into_killed_engines_end_and_the_next_engine_loads(daemon: DaemonProcess) -> None:
    with AttachedEngine(daemon.socket, EngineMemory(_SHAPE)) as first:
        hashes = fresh_hashes(len(_SOURCE))
        first.memory.refill(_SOURCE)
        assert first.save(hashes, _SOURCE).ok
        saved = first.memory.read(_SOURCE)
        namespace = first.namespace

    def failures() -> int:
        return int(daemon.patient_status()["loads"]["failures"])

    deadline = time.monotonic() + _LIMIT_S
    while failures() == 0:
        assert time.monotonic() < deadline, "no kill came in the middle of a load"
        _kill_while_it_loads(daemon, namespace, hashes)

    def is_idle() -> bool:
        status = daemon.patient_status()
        left = status["loads"]["in_flight"], status["leases"]["held"], len(status["engines"])
        return left == (0, 0, 0) and status["pool"]["pinned_blocks"] == 0

    wait_until(is_idle, "nothing is left of the killed engines", _LIMIT_S)
    with AttachedEngine(daemon.socket, EngineMemory(_SHAPE), namespace) as successor:
        assert successor.load(hashes, _TARGET).ok
        assert successor.memory.read(_TARGET) == saved


def _kill_while_it_loads(daemon: DaemonProcess, namespace: bytes, hashes: list[bytes]) -> None:
    arguments = [str(daemon.socket), namespace.hex(), *(hash.hex() for hash in hashes)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.native.test_killed_mid_load", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as engine:
        try:
            assert engine.stdout is not None
            assert engine.stdout.readline() == "attached\n"
            loaded = daemon.patient_status()["loads"]["transfers"]
            wait_until(
                lambda: daemon.patient_status()["loads"]["transfers"] > loaded, "it loads", _LIMIT_S
            )
        finally:
            engine.kill()


if __name__ == "__main__":
    load_for_ever(
        Path(sys.argv[1]), bytes.fromhex(sys.argv[2]), [bytes.fromhex(one) for one in sys.argv[3:]]
    )
