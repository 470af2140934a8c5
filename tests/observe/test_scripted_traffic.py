"""``pegaflow top`` of a real daemon shows exactly what a simulated engine did."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from pegaflow.bench.engine import BenchEngine, fresh_hashes
from pegaflow.bench.layout import BlockLayout
from pegaflow.bench.memory import HostDevice
from tests.cli.documents import schema
from tests.cli.installed import Host

_BLOCK = 64 << 10
_LAYOUT = BlockLayout("one run", num_blocks=16, runs=1, run_bytes=_BLOCK)


@pytest.fixture
def engine(host: Host) -> Iterator[BenchEngine]:
    """An engine of a daemon of 16 MiB: 256 blocks."""
    host.serve()
    engine = BenchEngine(str(host.socket), HostDevice(), _LAYOUT)
    try:
        yield engine
    finally:
        engine.close()


def _top(host: Host) -> dict[str, Any]:
    done = host.run("top", "--once", "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, schema("top"))
    blocks = document["blocks"]
    tiers = blocks["memory"] + blocks["ssd"] + blocks["remote"]
    assert tiers + blocks["miss"] == blocks["requested"]
    (shown,) = document["hosts"]
    assert sum(shown["misses"]["reasons"].values()) == blocks["miss"]
    assert sum(shown["evictions"]["reasons"].values()) == shown["evictions"]["memory_blocks"]
    found: dict[str, Any] = shown
    return found


def _ask(engine: BenchEngine, hashes: list[bytes]) -> None:
    request, _ = engine.lookup(hashes)
    engine.scheduler.forget(request)


def test_every_number_is_the_scripts(host: Host, engine: BenchEngine) -> None:
    hashes = fresh_hashes(10)
    _ask(engine, hashes)
    engine.save(hashes[:6], range(6))
    engine.save(hashes[:6], range(6))
    engine.load(hashes[:4], range(10, 14))
    assert host.run("tier", "evict", "memory", "100%", "--yes").returncode == 0
    _ask(engine, hashes)
    shown = _top(host)
    assert shown["blocks"] == {"requested": 24, "memory": 4, "ssd": 0, "remote": 0, "miss": 20}
    reasons = {reason: count for reason, count in shown["misses"]["reasons"].items() if count}
    assert reasons == {"new": 14, "request": 6}
    assert shown["misses"]["lost"] == 6
    assert set(shown["misses"]["ghost_hits"].values()) == {0}
    evictions = shown["evictions"]
    assert (evictions["memory_blocks"], evictions["admissions"]) == (6, 6)
    assert (evictions["reasons"]["request"], evictions["unfound_blocks"]) == (6, 2)
    assert evictions["residence"]["p99_s"] > 0.0
    ceilings = [(one["window_s"], one["requested"]) for one in shown["ceilings"]]
    assert ceilings == [(900, 24), (3600, 24), (86400, 24)]
    assert {one["hit_share"] for one in shown["ceilings"]} == {14 / 24}
    (attached,) = shown["engines"]
    assert (attached["saved_blocks"], attached["loaded_blocks"]) == (6, 4)
    assert (attached["failures"], attached["mapped_bytes"]) == (0, 16 * _BLOCK)
    flows = {flow["name"]: (flow["transfers"], flow["total_bytes"]) for flow in shown["flows"]}
    assert flows == {"save": (2, 6 * _BLOCK), "load": (1, 4 * _BLOCK)}
    counts = {one["name"]: one["count"] for one in shown["latencies"]}
    assert (counts["lookup"], counts["save"], counts["load"]) == (3, 2, 1)
    prefixes = [(one["blocks"], one["lookups"], one["found_share"]) for one in shown["prefixes"]]
    assert prefixes == [(4, 3, 1 / 3), (1, 3, 1 / 3)]
    (memory,) = shown["tiers"]
    assert memory["largest_free_bytes"] == memory["capacity_bytes"]
    assert shown["advice"]["memory_block_s"] > 0.0


def test_what_has_no_room_is_lost_and_a_larger_pool_would_have_it(
    host: Host, engine: BenchEngine
) -> None:
    parts = [fresh_hashes(16) for _ in range(24)]
    for part in parts:
        engine.save(part, range(16))
    for part in parts[:2]:
        _ask(engine, part)
    shown = _top(host)
    assert shown["blocks"]["miss"] == shown["misses"]["reasons"]["room"] == 32
    assert shown["misses"]["ghost_hits"]["4"] == 32
    namespaces = sum(space["evictions"] for space in shown["namespaces"])
    assert shown["evictions"]["reasons"]["room"] == namespaces >= 24 * 16 - 256
