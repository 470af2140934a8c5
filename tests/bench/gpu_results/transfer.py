"""Saves, loads and lookups, for each strategy of copying."""

from collections.abc import Iterable, Iterator
from functools import cache

from pegaflow.bench.cuda import CudaDevice
from pegaflow.bench.daemon import running_daemon
from pegaflow.bench.engine import attached
from pegaflow.bench.figures import Say
from pegaflow.bench.layout import ONE_OF_EIGHT, BlockLayout, layouts
from pegaflow.bench.memory import Limit
from pegaflow.bench.transfer import LayoutRates, Plan, Rate, latencies, measure_layout
from pegaflow.models import Status
from tests.bench.gpu_results.result import Result, survived

POOL_BYTES = 12 << 30
SMALL_RUNS = ("blocks first", "K and V apart")

_LARGE_TARGETS = {64: 85.0, 1024: 97.0}
_MEDIAN = "the median of 5 transfers of random blocks"


@cache
def device() -> CudaDevice:
    """The GPU, with the buffers of its yardsticks."""
    return CudaDevice()


@cache
def link() -> Limit:
    """The limit of this run."""
    return device().limit()


def rows(say: Say) -> Iterator[Result]:
    """All of them."""
    yield from survived("limit of the link", _limits(say))
    yield from survived("one run across layers", _large_runs(say))
    yield from survived("batch calls only", _small_runs("batch", say))
    yield from survived("small runs, as chosen by itself", _small_runs("auto", say))
    yield from survived("small runs, by a ring", _small_runs("gather", say))


def _limits(say: Say) -> Iterator[Result]:
    say("the link")
    limit = link()
    yield Result("link: load", limit.load, "GB/s", how=limit.how)
    yield Result("link: save", limit.save, "GB/s", how=limit.how)
    yield Result("link: both at once, together", limit.duplex, "GB/s", how=limit.how)


def _layout(plan: Plan, name: str) -> BlockLayout:
    return next(one for one in layouts(plan.num_blocks, plan.block_bytes) if one.name == name)


def _large_runs(say: Say) -> Iterator[Result]:
    gpu, limit = device(), link()
    plan = Plan.of(gpu, is_quick=False)
    layout = _layout(plan, "one run across layers")
    with running_daemon(POOL_BYTES) as daemon:
        found = measure_layout(daemon, gpu, layout, limit, plan, say)
        for size in found.sizes:
            if size.blocks in _LARGE_TARGETS:
                what = f"{size.blocks} blocks of 2 MiB, one run across layers"
                yield from _of_link(what, size.save, size.load, _LARGE_TARGETS[size.blocks])
        yield Result(
            "saves and loads at once, one run across layers",
            _percent(found.duplex),
            "% of the duplex limit",
            88.0,
            "least",
            f"{found.duplex.gb_s} GB/s together, half of the blocks each way",
        )
        for one in daemon.status().gpus.devices:
            own = one.own_bytes and one.own_bytes / (1 << 20)
            how = "by the driver's management library, before and after its start"
            yield Result("GPU memory that the daemon takes", own, "MiB", 600.0, "most", how)
        say("lookups, and loads of few blocks")
        with attached(daemon.socket, gpu, layout) as engine:
            yield from _latencies(latencies(daemon, engine, gpu, plan))


def _latencies(found: dict[str, object]) -> Iterator[Result]:
    round_trip, lookup, laps = found["round_trip_us"], found["lookup_us"], found["latencies"]
    assert isinstance(round_trip, float) and isinstance(lookup, float) and isinstance(laps, tuple)
    yield Result("round trip", round_trip, "us", how="a lookup of one hash that is not cached, p50")
    for lap in laps:
        how = (
            f"p50: lookup {lap.lookup_us} us + load {lap.load_us} us = {lap.total_us} us; one copy "
            f"{lap.copy_us} us + 2 round trips of {round_trip} us"
        )
        what = f"lookup + load of {lap.blocks} block{'s' * (lap.blocks > 1)}"
        yield Result(what, lap.of_bound, "x (copy + 2 round trips)", 1.25, "most", how)
    yield Result("lookup of 1,024 hashes", lookup, "us", 400.0, "most", "all cached, p50")


def _small_runs(strategy: str, say: Say) -> Iterator[Result]:
    gpu, limit = device(), link()
    plan = Plan.of(gpu, is_quick=False)
    with running_daemon(POOL_BYTES, [f"--copy-strategy={strategy}"]) as daemon:
        for name in SMALL_RUNS if strategy == "batch" else (*SMALL_RUNS, ONE_OF_EIGHT):
            layout = _layout(plan, name)
            say(f"copy strategy {strategy}")
            found = measure_layout(daemon, gpu, layout, limit, plan, say)
            yield from _judged(strategy, found)
            if strategy == "gather":
                with attached(daemon.socket, gpu, layout):
                    yield from _ring(name, daemon.status())


def _judged(strategy: str, found: LayoutRates) -> Iterable[Result]:
    most = found.sizes[-1]
    run = f"{found.name}, {found.run_bytes >> 10} KiB runs"
    what = f"{most.blocks} blocks of {found.runs * found.run_bytes >> 10} KiB, {run}"
    if strategy == "batch" and found.batch_save_gb_s and found.batch_load_gb_s:
        pairs = ((most.save, found.batch_save_gb_s), (most.load, found.batch_load_gb_s))
        for kind, (rate, call) in zip(("save", "load"), pairs, strict=True):
            how = f"{rate.gb_s} GB/s, {_MEDIAN}; the call alone {call} GB/s, the best of 5"
            part = round(100 * rate.gb_s / call, 1)
            yield Result(
                f"{what}, batch calls: {kind}", part, "% of the call's rate", 95.0, "least", how
            )
        return
    way = "by the engine's gather" if strategy == "gather" else "as chosen by itself"
    yield from _of_link(f"{what}, {way}", most.save, most.load, 90.0)
    few = found.sizes[1]
    yield from _of_link(f"{few.blocks} blocks, {run}, {way}", few.save, few.load, None)


def _ring(name: str, status: Status) -> Iterator[Result]:
    for device in status.gpus.devices:
        for engine in device.engines:
            ring = engine.ring
            how = f"{engine.copy_strategy}; as they are: batch {engine.batch_bytes_s}, plain "
            how += (
                f"{engine.plain_bytes_s} bytes/s; out of the ring {ring.bytes_s if ring else None}"
            )
            size = ring.bytes / (1 << 20) if ring else None
            yield Result(f"ring of an engine, {name}", size, "MiB", how=how)


def _of_link(what: str, save: Rate, load: Rate, target: float | None) -> Iterator[Result]:
    for kind, rate in (("save", save), ("load", load)):
        how = f"{rate.gb_s} GB/s, {_MEDIAN}"
        yield Result(f"{what}: {kind}", _percent(rate), "% of the link", target, "least", how)


def _percent(rate: Rate) -> float:
    return round(100 * rate.of_limit, 1)
