"""Latency of a lookup through the real socket and the Python client."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pegaflow.bench.figures import median, percentile
from tests.bench.lookup_client import PAGE, paced_lookups, timed_lookup
from tests.bench.rows import Row
from tests.engine.daemon import DaemonProcess
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import HASH_BYTES, EngineMemory

_SIZES = {1: 120.0, 1000: 450.0}
"""Hashes in one call, and the most microseconds that half of the calls may take."""

_BACK_TO_BACK_S = 2.0
_PACE_S = 0.002
_PACED_CALLS = 1000

_CLIENTS = 16
_RATE = 50
_CLIENT_CALLS = 400
_CLIENT_HASHES = 100
_CROWD_P99_US = 2500.0


def rows() -> Iterator[Row]:
    """Back to back, 2 ms apart, and a crowd beside a spinning Python thread."""
    with (
        DaemonProcess(pool_size="64MiB") as daemon,
        AttachedEngine(daemon.socket, EngineMemory(PAGE)) as engine,
    ):
        packed = _cached_hashes(engine)
        for count, target in _SIZES.items():
            some = packed[: count * HASH_BYTES]
            name = f"lookup of {count} hashes" if count > 1 else "lookup of 1 hash"
            laps = _back_to_back(engine, some)
            yield Row(f"{name}, back to back, p50", median(laps), "us", target)
            yield Row(f"{name}, back to back, p99", percentile(laps, 99), "us")
            laps = paced_lookups(engine, some, _PACE_S, _PACED_CALLS)
            yield Row(f"{name}, 2 ms apart, p50", median(laps), "us")
    yield from _crowd()


def _cached_hashes(engine: AttachedEngine) -> bytes:
    hashes = fresh_hashes(PAGE.num_blocks)
    assert engine.save(hashes, range(PAGE.num_blocks)).ok
    return b"".join(hashes)


def _back_to_back(engine: AttachedEngine, packed: bytes) -> list[float]:
    laps = []
    end = time.monotonic() + _BACK_TO_BACK_S
    while time.monotonic() < end:
        laps.append(timed_lookup(engine, packed))
    return laps


def _crowd() -> Iterator[Row]:
    spinning = (sys.executable, str(Path(__file__).with_name("spinning_daemon.py")))
    with (
        DaemonProcess(pool_size="64MiB", program=spinning) as daemon,
        AttachedEngine(daemon.socket, EngineMemory(PAGE)) as engine,
    ):
        hashes = daemon.directory / "hashes"
        hashes.write_bytes(_cached_hashes(engine)[: _CLIENT_HASHES * HASH_BYTES])
        clients = [_client(daemon.socket, hashes, engine.namespace) for _ in range(_CLIENTS)]
        try:
            for client in clients:
                assert client.stdout is not None
                assert client.stdout.readline() == "attached\n"
            laps = [lap for client in _all_started(clients) for lap in _result(client)]
        finally:
            for client in clients:
                client.kill()
                client.communicate()
    name = f"lookup of {_CLIENT_HASHES} hashes, {_CLIENTS} clients at {_RATE}/s, spinning thread"
    yield Row(f"{name}, p50", median(laps), "us")
    yield Row(f"{name}, p99", percentile(laps, 99), "us", _CROWD_P99_US)


def _client(socket: Path, hashes: Path, namespace: bytes) -> "subprocess.Popen[str]":
    arguments = [str(socket), str(hashes), namespace.hex(), str(_RATE), str(_CLIENT_CALLS)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench.lookup_client", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


def _all_started(clients: "list[subprocess.Popen[str]]") -> "list[subprocess.Popen[str]]":
    for client in clients:
        assert client.stdin is not None
        client.stdin.write("go\n")
        client.stdin.flush()
    return clients


def _result(client: "subprocess.Popen[str]") -> list[float]:
    assert client.stdout is not None
    laps: list[float] = json.loads(client.stdout.readline())
    return laps
