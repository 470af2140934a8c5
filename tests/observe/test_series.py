"""What is taken from an exposition."""

import pytest

from pegaflow.observe.histogram import EMPTY, Histogram
from pegaflow.observe.series import Series
from tests.observe.samples import histogram

_LOADS = "pegaflow_load_duration_seconds"


def test_only_lines_that_are_needed_are_kept() -> None:
    text = histogram(_LOADS, {"0.001": 1, "+Inf": 2}) + "pegaflow_cache_block_hits_total 5\n# EOF\n"
    assert Series.of(text).text.splitlines() == [
        f'{_LOADS}_bucket{{le="0.001"}} 1',
        f'{_LOADS}_bucket{{le="+Inf"}} 2',
    ]


def test_the_series_of_what_was_kept_are_those_of_all() -> None:
    text = histogram(_LOADS, {"0.001": 1, "+Inf": 2}) + "pegaflow_leases_granted_total 7\n"
    once = Series.of(text)
    again = Series(once.text)
    assert again.counters == once.counters == {"pegaflow_leases_granted_total": 7}
    assert again.histograms == once.histograms


def test_counters_are_told_apart_by_their_label_and_summed_over_others() -> None:
    text = """
pegaflow_leases_ended_total{reason="loaded"} 3
pegaflow_leases_ended_total{reason="expired"} 1
pegaflow_ssd_kept_blocks_total{path="/a"} 4
pegaflow_ssd_kept_blocks_total{path="/b"} 6
"""
    assert Series.of(text).counters == {
        "pegaflow_leases_ended_total/loaded": 3,
        "pegaflow_leases_ended_total/expired": 1,
        "pegaflow_ssd_kept_blocks_total": 10,
    }


def test_paths_of_the_ssd_tier_are_taken_together() -> None:
    metric = "pegaflow_ssd_read_duration_seconds"
    text = histogram(metric, {"0.001": 1, "+Inf": 4}, ',path="/a"')
    text += histogram(metric, {"0.001": 2, "+Inf": 3}, ',path="/b"').partition("\n")[2]
    found = Series.of(text).histograms["ssd read"]
    assert found == Histogram((0.001, float("inf")), (3, 4))


def test_what_a_daemon_does_not_measure_is_empty() -> None:
    assert Series.of("").histograms["fetch"] == EMPTY


def test_quantiles_lie_within_their_bucket() -> None:
    counted = Histogram.of_cumulative([(0.001, 50), (0.01, 90), (0.1, 100), (float("inf"), 100)])
    assert counted.quantile_s(0.5) == pytest.approx(0.001)
    assert counted.quantile_s(0.95) == pytest.approx(0.055)
    assert counted.quantile_s(0.99) == pytest.approx(0.091)


def test_what_is_above_all_bounds_counts_as_the_last_one() -> None:
    assert Histogram.of_cumulative([(0.5, 0), (float("inf"), 3)]).quantile_s(0.5) == 0.5


def test_there_is_no_quantile_of_nothing() -> None:
    assert EMPTY.quantile_s(0.5) is None
