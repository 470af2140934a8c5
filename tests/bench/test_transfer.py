"""Transfers of a simulated engine are measured and checked, on any machine."""

from typing import Final

import pytest

from pegaflow.bench.daemon import running_daemon
from pegaflow.bench.engine import attached, fresh_hashes
from pegaflow.bench.layout import ONE_OF_EIGHT, BlockLayout
from pegaflow.bench.memory import HostDevice, Limit
from pegaflow.bench.transfer import FEW, Plan, TransferReport, measure
from pegaflow.errors import PegaflowError

TINY: Final = Plan(num_blocks=64, block_bytes=256 << 10, big_rounds=2, few_rounds=2, duplex_s=0.05)


@pytest.fixture(scope="module")
def report() -> TransferReport:
    return measure(HostDevice(), TINY, lambda text: None)


def test_every_layout_and_size_has_rates_in_both_directions(report: TransferReport) -> None:
    assert [layout.name for layout in report.layouts] == [
        "one run across layers",
        "blocks first",
        "K and V apart",
        ONE_OF_EIGHT,
        "MLA",
    ]
    for layout in report.layouts:
        assert [size.blocks for size in layout.sizes] == [1, 8, 64]
        rates = [rate for size in layout.sizes for rate in (size.save, size.load)]
        assert all(rate.gb_s > 0 for rate in [*rates, layout.duplex])


def test_all_bytes_of_each_layout_were_compared(report: TransferReport) -> None:
    for layout in report.layouts:
        assert layout.checked_bytes == TINY.num_blocks * layout.runs * layout.run_bytes


def test_the_latency_of_few_blocks_is_that_of_lookup_and_load(report: TransferReport) -> None:
    assert [lap.blocks for lap in report.latencies] == list(FEW)
    for lap in report.latencies:
        assert lap.of_bound == pytest.approx(
            lap.total_us / (lap.copy_us + 2 * report.round_trip_us), rel=0.01, abs=0.01
        )


def test_the_limit_says_how_it_was_measured(report: TransferReport) -> None:
    assert isinstance(report.limit, Limit)
    assert "memcpy" in report.limit.how


def test_a_load_of_what_is_not_cached_is_an_error_that_says_so() -> None:
    layout = BlockLayout("small", 4, 1, 64 << 10)
    with (
        running_daemon(64 << 20) as daemon,
        attached(daemon.socket, HostDevice(), layout) as engine,
        pytest.raises(PegaflowError, match="of 4 blocks just saved 0 are cached"),
    ):
        engine.start_load(fresh_hashes(4), range(4))
