"""Decoding steps beside copies that run all the time."""

from collections.abc import Iterator, Sequence
from functools import cache

from pegaflow.bench.daemon import running_daemon
from pegaflow.bench.decode import DecodeModel, Steps, measure_alone, measure_beside
from pegaflow.bench.engine import BenchEngine, attached
from pegaflow.bench.figures import Say
from pegaflow.bench.layout import BlockLayout
from tests.bench.gpu_results import plain_copies
from tests.bench.gpu_results.result import Result, survived
from tests.bench.gpu_results.transfer import POOL_BYTES, device

LARGE = BlockLayout("one run across layers", 1024, 1, 2 << 20)
SMALL = BlockLayout("K and V apart", 1024, 64, 32 << 10)
BOTH = ("save", "load")
MAX_RATES_GB_S = (16, 8, 4, 2)
"""Tried from the highest until one keeps the rise within the target."""


@cache
def _model() -> DecodeModel:
    return DecodeModel()


@cache
def _alone() -> Steps:
    measure_alone(_model())
    return measure_alone(_model())


def rows(say: Say) -> Iterator[Result]:
    """All of them."""
    yield from survived("decoding alone", _base(say))
    yield from survived("decoding beside plain copies", _plain_copies(say))
    yield from survived("decoding beside copy engines", _copy_engines(say))
    yield from survived("decoding beside small runs", _small_runs(say))
    for name, layout in (("both ways", LARGE), ("both ways of small runs", SMALL)):
        yield from survived(f"--max-rate, {name}", _limited(name, layout, say))


def _base(say: Say) -> Iterator[Result]:
    say("decoding steps alone")
    how = "500 steps of 16 sequences of an 8B shape, one CUDA graph each"
    yield Result("decoding step alone: mean", _alone().mean_ms, "ms", how=how)
    yield Result("decoding step alone: p99", _alone().p99_ms, "ms", how=how)


def _plain_copies(say: Say) -> Iterator[Result]:
    for kinds in (("save",), ("load",), BOTH):
        name = f"plain copies of another process, {_ways(kinds)}"
        say(f"decoding steps beside {name}")
        with plain_copies.running(kinds) as copies:
            steps = measure_alone(_model())
        how = f"copies of {plain_copies.BYTES >> 20} MiB by cupy, {copies.gb_s} GB/s"
        for statistic, rise in zip(("mean", "p99"), steps.rise(_alone()), strict=True):
            yield Result(f"decoding beside {name}: {statistic}", rise, "% more", how=how)


def _copy_engines(say: Say) -> Iterator[Result]:
    with running_daemon(POOL_BYTES) as daemon, attached(daemon.socket, device(), LARGE) as one:
        for kinds, targets in ((("save",), (3, 6)), (("load",), (3, 6)), (BOTH, (6, 8))):
            yield from _rise(f"copy engines, {_ways(kinds)}", one, kinds, targets, say)


def _small_runs(say: Say) -> Iterator[Result]:
    for strategy in ("auto", "gather"):
        options = [f"--copy-strategy={strategy}"]
        way = "as chosen by itself" if strategy == "auto" else "by a ring"
        with (
            running_daemon(POOL_BYTES, options) as daemon,
            attached(daemon.socket, device(), SMALL) as one,
        ):
            for kinds in (("save",), ("load",)):
                name = f"small runs {way}, {_ways(kinds)}"
                yield from _rise(name, one, kinds, (11, None), say)


def _rise(
    name: str,
    engine: BenchEngine,
    kinds: Sequence[str],
    targets: tuple[float | None, float | None],
    say: Say,
) -> Iterator[Result]:
    say(f"decoding steps beside {name}")
    steps = measure_beside(_model(), engine, kinds)
    for statistic, rise, target in zip(("mean", "p99"), steps.rise(_alone()), targets, strict=True):
        how = f"{steps.gb_s} GB/s copied; mean {steps.mean_ms} ms, p99 {steps.p99_ms} ms"
        yield Result(f"decoding beside {name}: {statistic}", rise, "% more", target, "most", how)


def _limited(name: str, layout: BlockLayout, say: Say) -> Iterator[Result]:
    """The highest rate that keeps the mean within the target, or the lowest tried."""
    for max_rate in MAX_RATES_GB_S:
        say(f"decoding steps beside {name} with --max-rate {max_rate} GiB/s")
        options = [f"--max-rate={max_rate}GiB"]
        with (
            running_daemon(POOL_BYTES, options) as daemon,
            attached(daemon.socket, device(), layout) as engine,
        ):
            steps = measure_beside(_model(), engine, BOTH)
        rise = steps.rise(_alone())[0]
        if rise <= 3 or max_rate == MAX_RATES_GB_S[-1]:
            how = f"--max-rate {max_rate}GiB, {steps.gb_s} GB/s copied"
            what = f"decoding beside {name}, --max-rate: mean"
            yield Result(what, rise, "% more", 3.0, "most", how)
            return


def _ways(kinds: Sequence[str]) -> str:
    return "both ways at once" if len(kinds) > 1 else f"{kinds[0]}s"
