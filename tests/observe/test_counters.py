"""Differences between samples: exact, never below nothing, and honest about restarts."""

import string
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pegaflow.observe.counters import Counters
from pegaflow.observe.histogram import Histogram
from pegaflow.observe.reading import snapshot
from tests.observe.samples import blocks, sample

_COUNTS = st.dictionaries(
    st.text(string.ascii_lowercase, min_size=1, max_size=3), st.integers(0, 2**53), max_size=6
)


def _counters(boot: str, uptime_s: float, values: dict[str, int]) -> Counters:
    return Counters(boot, uptime_s, dict(values), {})


@given(first=_COUNTS, steps=st.lists(_COUNTS, max_size=5))
def test_differences_of_one_daemon_add_up_to_its_count(
    first: dict[str, int], steps: list[dict[str, int]]
) -> None:
    readings = [_counters("a", 1.0, first)]
    for number, step in enumerate(steps):
        before = readings[-1].values
        grown = {name: int(before.get(name, 0)) + step.get(name, 0) for name in {*before, *step}}
        readings.append(_counters("a", 2.0 + number, grown))
    sums = dict.fromkeys(readings[-1].values, 0)
    for earlier, later in pairwise(readings):
        delta = later.since(earlier)
        assert (delta.restarted, delta.seconds) == (False, 1.0)
        for name in delta.values:
            sums[name] += delta.count(name)
    assert sums == {
        name: value - readings[0].values.get(name, 0) for name, value in readings[-1].values.items()
    }


@given(before=_COUNTS, after=_COUNTS, uptime_s=st.floats(0, 1e6))
def test_a_daemon_of_another_boot_id_has_counted_what_it_says(
    before: dict[str, int], after: dict[str, int], uptime_s: float
) -> None:
    delta = _counters("b", uptime_s, after).since(_counters("a", 1e6, before))
    assert delta.restarted
    assert delta.seconds == uptime_s
    assert dict(delta.values) == after


@given(before=_COUNTS, after=_COUNTS)
def test_no_count_is_ever_below_nothing(before: dict[str, int], after: dict[str, int]) -> None:
    delta = _counters("a", 5.0, after).since(_counters("a", 4.0, before))
    assert all(value >= 0 for value in delta.values.values())
    assert all(delta.rate(name) >= 0 for name in delta.values)


@given(
    before=st.lists(st.integers(0, 1000), min_size=4, max_size=4),
    more=st.lists(st.integers(0, 1000), min_size=4, max_size=4),
)
def test_a_histogram_less_an_earlier_one_is_what_came_between(
    before: list[int], more: list[int]
) -> None:
    bounds = (0.001, 0.01, 0.1, float("inf"))
    earlier, between = Histogram(bounds, tuple(before)), Histogram(bounds, tuple(more))
    assert earlier.plus(between).minus(earlier) == between


def test_the_rates_of_a_snapshot_are_those_since_the_sample_before() -> None:
    saves: dict[str, Any] = {"failures": 1, "in_flight": 0} | dict.fromkeys(
        ("p50_ms", "p95_ms", "p99_ms")
    )
    first = sample(
        uptime_s=10.0,
        blocks=blocks(700, 20, 0, 30),
        saves={"transfers": 5, "blocks": 50, "bytes": 1000, **saves},
    )
    second = sample(
        uptime_s=14.0,
        blocks=blocks(1000, 25, 0, 95),
        saves={"transfers": 9, "blocks": 90, "bytes": 9000, **saves},
    )
    seen = snapshot(second, first)
    assert (seen.window.seconds, seen.window.since_start, seen.window.restarted) == (
        4,
        False,
        False,
    )
    window = seen.window_blocks
    assert (window.requested, window.memory, window.ssd, window.miss) == (370, 300, 5, 65)
    assert seen.blocks.requested == 1120
    save = seen.flow("save")
    assert (save.bytes_per_s, save.blocks_per_s, save.transfers, save.failures) == (2000, 10, 4, 0)


def test_a_restart_is_marked_and_counts_from_the_new_start() -> None:
    first = sample(uptime_s=1000.0, blocks=blocks(900, 0, 0, 100), boot_id="a" * 16)
    second = sample(uptime_s=2.0, blocks=blocks(30, 0, 0, 10), boot_id="b" * 16)
    seen = snapshot(second, first)
    assert (seen.window.seconds, seen.window.restarted) == (2, True)
    assert (seen.window_blocks.requested, seen.window_blocks.memory) == (40, 30)
