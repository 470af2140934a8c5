"""``pegaflow warm --from ssd``: how fast blocks come into the empty pool of a new daemon."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pegaflow import _native
from tests.bench.filling import fill
from tests.engine.daemon import PEGAFLOW, DaemonProcess
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import EngineMemory, Shape

_BATCH: Final = 512
"""Blocks of the engine's memory, which are saved at one time."""
_ROOM: Final = 1.25
"""Pool and path have room for so many times the blocks."""


def rate(place: Path, page_bytes: int, total_bytes: int) -> float:
    """GB/s of loading all blocks from a path in that directory, each compared with its checksum."""
    pages, room = total_bytes // page_bytes, int(total_bytes * _ROOM)
    shape = Shape(num_blocks=_BATCH, layers=1, segment_bytes=page_bytes)
    options = [f"--ssd={place / 'tier'}={room}"]
    with DaemonProcess(pool_size=str(room), options=options) as daemon:
        with AttachedEngine(daemon.socket, EngineMemory(shape)) as engine:
            fill(daemon, engine, pages)
        _command(daemon, "tier", "flush", "memory")
        daemon.kill()
        assert _native.purge(str(daemon.socket), None) > 0
        daemon.start()
        warmed = _command(daemon, "warm", "--from=ssd")
        assert warmed["blocks"] == pages, warmed
        _command(daemon, "tier", "remove-path", str(place / "tier"), "--delete-files", "--yes")
    return float(warmed["bytes"] / warmed["seconds"] / 1e9)


def _command(daemon: DaemonProcess, *words: str) -> dict[str, Any]:
    command: Sequence[str] = (*PEGAFLOW, *words, f"--socket={daemon.socket}", "--json")
    document: dict[str, Any] = json.loads(subprocess.check_output(command, encoding="utf-8"))
    return document
