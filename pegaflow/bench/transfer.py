"""How fast blocks are saved and loaded, beside what one large copy reaches in the same run."""

import os
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from pegaflow.bench import machine
from pegaflow.bench.cuda import CudaDevice
from pegaflow.bench.daemon import BenchDaemon, running_daemon
from pegaflow.bench.engine import BenchEngine, attached, fresh_hashes
from pegaflow.bench.figures import Say, rate
from pegaflow.bench.layout import BlockLayout, layouts
from pegaflow.bench.memory import Device, HostDevice, Limit
from pegaflow.errors import ConfigError

SIZES: Final = (1, 8, 64, 1024)
FEW: Final = (1, 8)
LOOKUP_HASHES: Final = 1024

_OPTIONS: Final = ("--eviction-policy=lru",)
"""What was just saved is there to be loaded: other policies may let it go before what is older."""

_POOL_OF_ENGINES: Final = 8
"""How often all blocks of an engine fit into the pool."""
_CHECKED_BLOCKS: Final = 256
_SAVED_AT_ONCE: Final = 4


@dataclass(frozen=True)
class Plan:
    """What is measured, and how often."""

    num_blocks: int
    block_bytes: int
    big_rounds: int
    few_rounds: int
    duplex_s: float

    @classmethod
    def of(cls, device: Device, *, is_quick: bool) -> "Plan":
        """Sensible sizes for the device; a quick one takes a few seconds."""
        block_bytes = 2 << 20 if device.kind == "cuda" else 512 << 10
        if is_quick:
            return cls(128, block_bytes // 4, 3, 20, 0.2)
        return cls(1024, block_bytes, 5, 100, 1.5)

    @property
    def sizes(self) -> list[int]:
        """Blocks of one transfer."""
        return [count for count in SIZES if count <= self.num_blocks]


@dataclass(frozen=True)
class Rate:
    """One direction's median; ``of_limit`` is its part of the limit."""

    gb_s: float
    of_limit: float


@dataclass(frozen=True)
class Sized:
    """Transfers of ``blocks`` blocks."""

    blocks: int
    save: Rate
    load: Rate


@dataclass(frozen=True)
class LayoutRates:
    """One layout."""

    name: str
    runs: int
    run_bytes: int
    checked_bytes: int
    """Fresh random bytes that were saved, loaded and compared."""
    batch_save_gb_s: float | None
    batch_load_gb_s: float | None
    sizes: tuple[Sized, ...]
    duplex: Rate
    """Saves and loads at once, together."""


@dataclass(frozen=True)
class Latency:
    """Lookup and load of few blocks, in microseconds: medians."""

    blocks: int
    lookup_us: float
    load_us: float
    total_us: float
    copy_us: float
    """One copy of as many bytes."""
    of_bound: float
    """The total over that copy and two round trips."""


@dataclass(frozen=True)
class TransferReport:
    """All figures of a run."""

    device: str
    limit: Limit
    layouts: tuple[LayoutRates, ...]
    round_trip_us: float
    """A lookup of one hash that nobody has saved: the smallest call."""
    lookup_us: float
    """A lookup of ``LOOKUP_HASHES`` cached hashes."""
    latencies: tuple[Latency, ...]

    def document(self) -> dict[str, Any]:
        """The ``bench-transfer`` document."""
        return {"machine": machine.describe(), "lookup_hashes": LOOKUP_HASHES, **asdict(self)}


def find_device(wanted: str) -> Device:
    """The device of ``--device``: ``cpu``, ``cuda``, or ``auto`` for a GPU where there is one."""
    if wanted == "cpu" or (wanted == "auto" and "gpu" not in machine.describe()):
        return HostDevice()
    if wanted in ("auto", "cuda"):
        return CudaDevice()
    raise ConfigError(f"--device {wanted!r} is not known; allowed are auto, cpu and cuda")


def measure(device: Device, plan: Plan, say: Say) -> TransferReport:
    """Measure all layouts against a daemon of its own."""
    say(f"the limit of copies on {device.name}")
    limit = device.limit()
    all_layouts = layouts(plan.num_blocks, plan.block_bytes)
    pool_bytes = _POOL_OF_ENGINES * max(layout.size for layout in all_layouts)
    say(f"a daemon with a pool of {pool_bytes >> 20} MiB")
    with running_daemon(pool_bytes, _OPTIONS) as daemon:
        found = tuple(
            measure_layout(daemon, device, layout, limit, plan, say) for layout in all_layouts
        )
        say("lookups, and loads of few blocks")
        with attached(daemon.socket, device, all_layouts[0]) as engine:
            return TransferReport(
                device.name, limit, found, **latencies(daemon, engine, device, plan)
            )


def measure_layout(
    daemon: BenchDaemon, device: Device, layout: BlockLayout, limit: Limit, plan: Plan, say: Say
) -> LayoutRates:
    """One layout with an engine of its own."""
    say(f"{layout.name}: {layout.runs} x {layout.run_bytes / 1024:g} KiB a block")
    batch = device.batch_rates(layout.run_bytes) or {}
    checked = check_bytes(daemon, device, layout)
    with attached(daemon.socket, device, layout) as engine:
        sizes = tuple(_sized(engine, count, rounds_of(count, plan), limit) for count in plan.sizes)
        return LayoutRates(
            layout.name,
            layout.runs,
            layout.run_bytes,
            checked,
            batch.get("save"),
            batch.get("load"),
            sizes,
            duplex(engine, plan.duplex_s, limit),
        )


def check_bytes(daemon: BenchDaemon, device: Device, layout: BlockLayout) -> int:
    """Move fresh random bytes through the daemon, each block to another place."""
    blocks = min(layout.num_blocks, _CHECKED_BLOCKS)
    small = BlockLayout(layout.name, blocks, layout.runs, layout.run_bytes)
    with attached(daemon.socket, device, small) as engine:
        return engine.check()


def rounds_of(count: int, plan: Plan) -> int:
    """More of what is short."""
    return plan.big_rounds if count > max(FEW) else plan.few_rounds


def median_rates(engine: BenchEngine, count: int, rounds: int) -> tuple[float, float]:
    """GB/s of saves and of loads of ``count`` blocks at random places."""
    saves, loads = [], []
    for _ in range(rounds):
        hashes = fresh_hashes(count)
        blocks = random.sample(range(engine.layout.num_blocks), count)
        saves.append(engine.save(hashes, blocks).seconds)
        loads.append(engine.load(hashes, blocks).seconds)
    size = count * engine.layout.block_bytes
    return rate(size, statistics.median(saves)), rate(size, statistics.median(loads))


def _sized(engine: BenchEngine, count: int, rounds: int, limit: Limit) -> Sized:
    save, load = median_rates(engine, count, rounds)
    return Sized(count, _of(save, limit.save), _of(load, limit.load))


def _of(gb_s: float, limit: float) -> Rate:
    return Rate(gb_s, round(gb_s / limit, 3))


def duplex(engine: BenchEngine, seconds: float, limit: Limit) -> Rate:
    """A save and a load under way all the time, each of half of the blocks."""
    half = engine.layout.num_blocks // 2
    cached, moved = fresh_hashes(half), 0
    engine.save(cached, range(half))
    began = time.perf_counter()
    in_flight = _start_both(engine, cached, half)
    while in_flight:
        for end in engine.poll():
            kind = in_flight.pop(end.transfer_id)
            moved += end.bytes
            if time.perf_counter() - began < seconds:
                in_flight[_start(engine, kind, cached, half)] = kind
        os.sched_yield()
    return _of(rate(moved, time.perf_counter() - began), limit.duplex)


def _start_both(engine: BenchEngine, cached: Sequence[bytes], half: int) -> dict[int, str]:
    return {_start(engine, kind, cached, half): kind for kind in ("save", "load")}


def _start(engine: BenchEngine, kind: str, cached: Sequence[bytes], half: int) -> int:
    if kind == "load":
        return engine.start_load(cached, range(half))
    return engine.start_save(fresh_hashes(half), range(half, 2 * half))


def latencies(
    daemon: BenchDaemon, engine: BenchEngine, device: Device, plan: Plan
) -> dict[str, Any]:
    """What the fields of ``TransferReport`` from ``round_trip_us`` on are."""
    daemon.wait_settled()
    unknown = fresh_hashes(1)
    round_trip_us = _us([engine.lookup_seconds(unknown) for _ in range(plan.few_rounds)])
    hashes = fresh_hashes(LOOKUP_HASHES)
    part = engine.layout.num_blocks // _SAVED_AT_ONCE
    for start in range(0, LOOKUP_HASHES, part):
        some = hashes[start : start + part]
        engine.save(some, range(len(some)))
    daemon.wait_settled()
    lookup_us = _us([engine.lookup_seconds(hashes) for _ in range(plan.few_rounds)])
    return {
        "round_trip_us": round_trip_us,
        "lookup_us": lookup_us,
        "latencies": tuple(_latency(engine, device, plan, n, round_trip_us) for n in FEW),
    }


def _latency(
    engine: BenchEngine, device: Device, plan: Plan, count: int, round_trip_us: float
) -> Latency:
    hashes = fresh_hashes(count)
    engine.save(hashes, range(count))
    laps = [engine.soonest_load(hashes, range(count)) for _ in range(plan.few_rounds)]
    size = count * engine.layout.block_bytes
    copy_us = _us(device.copy_seconds(size, plan.few_rounds))
    total_us = _us([sum(lap) for lap in laps])
    return Latency(
        count,
        _us([lookup for lookup, _ in laps]),
        _us([load for _, load in laps]),
        total_us,
        copy_us,
        round(total_us / (copy_us + 2 * round_trip_us), 2),
    )


def _us(seconds: Sequence[float]) -> float:
    return round(statistics.median(seconds) * 1e6, 1)
