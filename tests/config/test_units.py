"""Sizes and durations, as people write them."""

import contextlib
import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegaflow import units
from pegaflow.units import format_duration, format_size, parse_duration, parse_size

POWERS = {"": 0, "b": 0} | {
    prefix + suffix: power
    for power, prefix in enumerate("kmgtp", start=1)
    for suffix in ("", "b", "ib")
}


def test_the_examples_of_the_module_hold() -> None:
    results = doctest.testmod(units)
    assert results.attempted > 0
    assert results.failed == 0


@given(number=st.integers(0, 8000), unit=st.sampled_from(sorted(POWERS)), upper=st.booleans())
def test_units_of_size_are_powers_of_1024(number: int, unit: str, upper: bool) -> None:
    text = f"{number} {unit}"
    assert parse_size(text.upper() if upper else text) == number * 1024 ** POWERS[unit]


@given(size=st.integers(0, 2**62))
def test_plain_bytes_are_exact(size: int) -> None:
    assert parse_size(str(size)) == size


@given(size=st.integers(0, 2**60))
def test_a_formatted_size_reads_back_within_its_last_digit(size: int) -> None:
    assert parse_size(format_size(size)) == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize(("size", "text"), [(1 << 70, "1024 EiB"), (3 << 80, "3145728 EiB")])
def test_sizes_beyond_all_units_are_in_the_largest(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize("text", ["1000000001", "40000d", "9" * 400, "9" * 400 + ".5h"])
def test_durations_of_more_than_a_life_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration of at most 1,000,000,000 s"):
        parse_duration(text)


@given(text=st.text(max_size=12))
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_size(text) >= 0


@pytest.mark.parametrize("text", ["-1", "1 2", "1zb", "1.k.", "0x10", "1_000", "\u0661", "inf"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_size(text)


@given(seconds=st.floats(0, 1e6))
def test_a_duration_in_seconds_reads_back(seconds: float) -> None:
    assert parse_duration(f"{seconds:.6f}s") == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 ms"), (59.96, "60 s"), (3600, "1 h"), (3661, "1 h 1 m")]
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
