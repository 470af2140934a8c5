"""What a figure's row says."""

from hypothesis import given
from hypothesis import strategies as st

from pegaflow.bench.figures import median, percentile
from tests.bench.rows import Row

LAPS = st.lists(st.integers(0, 10**6).map(float), min_size=1)


def test_a_target_is_the_most_or_the_least_that_is_allowed() -> None:
    assert Row("latency", 119.9, "us", 120).met is True
    assert Row("latency", 120.1, "us", 120).met is False
    assert Row("rate", 0.9, "GB/s", 1.0, "least").met is False
    assert Row("rate", 1.1, "GB/s", 1.0, "least").met is True
    assert Row("ping", 10.0, "us").met is None
    assert Row("commit", "0123abcd", "").met is None


def test_a_document_has_what_scripts_read() -> None:
    document = Row("latency", 100.0, "us", 120).document()
    assert document.keys() >= {"name", "value", "unit", "target", "met"}


@given(LAPS)
def test_a_percentile_is_not_exceeded_by_so_many(laps: list[float]) -> None:
    for percent in (50, 90, 99):
        limit = percentile(laps, percent)
        assert limit in laps
        assert sum(lap > limit for lap in laps) <= len(laps) * (100 - percent) / 100


@given(LAPS)
def test_a_median_lies_between_the_extremes(laps: list[float]) -> None:
    assert round(min(laps), 1) <= median(laps) <= round(max(laps), 1)
