"""Engines and daemons that are killed while copies wait or run."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import fresh_hashes
from tests.fence.engine_memory import Shape
from tests.gpu.conftest import PROGRAM
from tests.gpu.driver import ON_GPU, Driver
from tests.gpu.gpu_engine import GpuEngine

BLOCKS: Final = range(8)
BOUND_S: Final = 5.0 if ON_GPU else 50.0
"""The contract's bound for what a killed engine leaves; tenfold on a machine that may be busy."""
BUSY_MS: Final = 3_000 if ON_GPU else 60_000
"""How long the stream of the engine is busy that is killed meanwhile."""


def mapped_bytes(daemon: DaemonProcess, driver: Driver | None) -> int:
    """Device memory that is taken; of the stand-in, what the daemon has mapped of engines'."""
    if driver is not None:
        return driver.used_bytes()
    maps = Path(f"/proc/{daemon.pid}/maps").read_text(encoding="utf-8").splitlines()
    spans = [line.split()[0].split("-") for line in maps if "memfd:cuda-stand-in" in line]
    return sum(int(end, 16) - int(begin, 16) for begin, end in spans)


def test_an_engine_killed_before_its_stream_comes_to_a_point_leaves_nothing(
    daemon: DaemonProcess, start_engine: Callable[..., GpuEngine]
) -> None:
    driver = Driver() if ON_GPU else None
    first = start_engine()
    first.save(fresh_hashes(len(BLOCKS)), BLOCKS)
    first.kill()
    wait_until(lambda: not daemon.status()["engines"], "the first engine is forgotten", 30)
    settled = _settled(daemon, driver)

    engine = start_engine()
    engine.refill(BLOCKS)
    engine.fill_later(7, BUSY_MS)
    engine.start_save(fresh_hashes(len(BLOCKS)), BLOCKS, engine.mark())
    wait_until(lambda: daemon.status()["saves"]["in_flight"] == 1, "the save waits", 30)
    killed = time.monotonic()
    engine.kill()

    def is_clean() -> bool:
        status = daemon.status()
        return (
            not status["engines"]
            and status["saves"]["in_flight"] == 0
            and mapped_bytes(daemon, driver) <= settled
        )

    wait_until(is_clean, "nothing of the engine is left", 60)
    assert time.monotonic() - killed < BOUND_S
    assert not list(Path(f"{daemon.socket}.grants").iterdir())

    hashes, next_engine = fresh_hashes(len(BLOCKS)), start_engine()
    saved = next_engine.refill(BLOCKS)
    next_engine.save(hashes, BLOCKS)
    next_engine.refill(BLOCKS)
    next_engine.load(hashes, BLOCKS)
    assert next_engine.digests(BLOCKS) == saved


def test_nothing_is_written_after_the_end_of_a_load_that_the_daemon_was_killed_in(
    environment: Mapping[str, str], strategy: str
) -> None:
    layers = 64 if ON_GPU else 8
    shape = Shape(num_blocks=2_048, layers=layers, segment_bytes=16 << 10)
    blocks = range(shape.num_blocks)
    options = [
        f"--pool-size={2 * shape.num_blocks * shape.block_bytes}",
        f"--copy-strategy={strategy}",
    ]
    with (
        DaemonProcess(environment=environment, options=options, program=PROGRAM) as daemon,
        GpuEngine(daemon.socket, shape, environment) as engine,
    ):
        hashes = fresh_hashes(len(blocks))
        engine.refill(blocks[:16])
        engine.save(hashes, blocks)
        engine.refill(blocks[:16])
        transfer = engine.start_load(hashes, blocks, engine.mark())
        daemon.kill()
        engine.wait_end(transfer)
        at_the_end = engine.digests(blocks[-256:])
        time.sleep(1)
        assert engine.digests(blocks[-256:]) == at_the_end


def _settled(daemon: DaemonProcess, driver: Driver | None) -> int:
    """The bytes that stay taken: the smallest count of the next second."""
    until = time.monotonic() + 1
    least = mapped_bytes(daemon, driver)
    while time.monotonic() < until:
        least = min(least, mapped_bytes(daemon, driver))
        time.sleep(0.02)
    return least
