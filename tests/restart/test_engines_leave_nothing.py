"""Engines that leave, are killed, or outlive their daemons: nothing of them stays anywhere."""

import gc
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import fresh_hashes
from tests.fence.engine_memory import EngineMemory
from tests.restart.conftest import SHAPE
from tests.restart.connected_engine import ConnectedEngine
from tests.restart.left_over import (
    RELEASE_S,
    assert_daemon_is_idle,
    descriptors,
    grant_files,
    threads,
)

pytestmark = pytest.mark.timeout(600)

VISITS: Final = 50
RESTARTS: Final = 6
KILLS: Final = 10
_CHECKOUT: Final = Path(__file__).parents[2]


def visit(daemon: DaemonProcess) -> None:
    """An engine comes, saves, loads, and leaves with a lease held."""
    with ConnectedEngine(daemon.socket, EngineMemory(SHAPE)) as engine:
        engine.wait_attached()
        hashes = fresh_hashes(8)
        engine.save(hashes, range(8))
        assert engine.load(hashes, range(8, 16))
        assert engine.hits(engine.request(hashes)) == 8


def shared_memory(daemon: DaemonProcess) -> set[Path]:
    """The files of the daemon's pool; other daemons of this machine have others."""
    pool = Path(daemon.status()["pool"]["path"])
    return set(pool.parent.glob(f"{pool.stem}*"))


def test_engines_that_leave_take_everything_with_them(daemon: DaemonProcess) -> None:
    visit(daemon)
    assert_daemon_is_idle(daemon)
    gc.collect()
    before = (descriptors(daemon.pid), threads(daemon.pid), descriptors(), threads())
    for _ in range(VISITS):
        visit(daemon)
    assert_daemon_is_idle(daemon)
    gc.collect()

    def now() -> tuple[int, int, int, int]:
        return (descriptors(daemon.pid), threads(daemon.pid), descriptors(), threads())

    wait_until(lambda: now() == before, f"as before: {before}, {now()}", RELEASE_S)


def test_daemons_that_end_leave_nothing_at_an_engine(
    daemon: DaemonProcess, engine: ConnectedEngine
) -> None:
    hashes = fresh_hashes(8)
    regions = shared_memory(daemon)
    before = (descriptors(), threads())
    for _ in range(RESTARTS):
        engine.save(hashes, range(8))
        assert engine.hits(engine.request(hashes)) == 8
        daemon.kill()
        daemon.start()
        engine.wait_attached()
        wait_until(lambda: daemon.complete_engines() == 1, "the engine is whole again", 10)
        assert (descriptors(), threads()) == before
        assert len(grant_files(daemon)) == 1
    assert shared_memory(daemon) == regions
    assert_daemon_is_idle(daemon, engines=1)


def test_engines_that_are_killed_at_any_time_leave_nothing(daemon: DaemonProcess) -> None:
    visit(daemon)
    assert_daemon_is_idle(daemon)
    before = descriptors(daemon.pid)
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.restart.busy_engine", str(daemon.socket)],
            cwd=_CHECKOUT,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        ) as engine:
            assert engine.stdout is not None
            assert engine.stdout.readline() == "busy\n"
            # A random time is what is tested here.
            time.sleep(random.uniform(0, 0.05))
            engine.kill()
        assert_daemon_is_idle(daemon)
        wait_until(lambda: descriptors(daemon.pid) == before, "its descriptors", RELEASE_S)
