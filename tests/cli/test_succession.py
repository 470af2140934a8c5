"""A detached daemon whose GPU is lost to its process has another one in its place."""

import json
import os
import signal
import sys
from pathlib import Path

from tests.cli.command_line import CommandLine
from tests.cli.filling import save_all
from tests.cli.installed import Host
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import EngineMemory, Shape

SHAPE = Shape(num_blocks=16, layers=2, segment_bytes=4096)
PATIENCE_S = 60.0


def test_the_next_daemon_waits_for_the_end_of_the_one_before_and_has_its_cache(host: Host) -> None:
    host.run("serve", "--detach")
    with AttachedEngine(host.socket, EngineMemory(SHAPE)) as engine:
        hashes = save_all(host, engine)
    before = host.status()
    with host.start("serve", "--json", "--detached", f"--successor-of={before['pid']}") as next_one:
        wait_until(lambda: _waits(next_one.pid), "the next daemon waits", PATIENCE_S)
        assert host.status()["boot_id"] == before["boot_id"]
        os.kill(before["pid"], signal.SIGKILL)
        assert next_one.stdout is not None
        assert json.loads(next_one.stdout.readline())["pid"] == next_one.pid
        after = host.status()
        assert (after["pid"], after["taken_over"]["blocks"]) == (next_one.pid, len(hashes))
        next_one.terminate()
        assert next_one.wait(PATIENCE_S) == 0


def test_only_a_detached_daemon_has_a_successor_with_its_settings(pegaflow: CommandLine) -> None:
    commands: list[list[str]] = []
    pegaflow.serve = lambda config, ready, successor: commands.append(list(successor))
    settings = ("--copy-threads=2", "--eviction-policy=lru")
    for words in (("serve", *settings), ("serve", "--detached", *settings)):
        assert pegaflow(*words).code == 0
    alone, detached = commands
    assert alone == []
    assert detached[:6] == [sys.executable, "-m", "pegaflow", "serve", "--json", "--detached"]
    assert set(settings) < set(detached)
    assert detached[-1] == f"--successor-of={os.getpid()}"


def _waits(pid: int) -> bool:
    """Whether the process has another one's end open."""
    try:
        return any("pidfd" in str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
