"""What vLLM's log and metrics are told."""

from typing import TYPE_CHECKING, Any, cast

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram

from pegaflow.connector.stats import TransferMetrics, TransferStats
from tests.connector.fake_daemon import FakeEnd


def stats_of(*ends: FakeEnd) -> TransferStats:
    stats = TransferStats()
    for end in ends:
        stats.ended(cast("TransferEnd", end))
    return stats


LOAD = FakeEnd(1, "a", "load", True, 8, seconds=0.25)
SAVE = FakeEnd(2, "a", "save", True, 3, seconds=0.5)
FAILED = FakeEnd(3, "b", "load", False, 5)

if TYPE_CHECKING:
    from pegaflow._native import TransferEnd

ends = st.lists(st.sampled_from([LOAD, SAVE, FAILED]))


@given(ends, ends)
def test_statistics_of_two_workers_add_up(one: list[FakeEnd], two: list[FakeEnd]) -> None:
    both = stats_of(*one).aggregate(stats_of(*two))
    assert both == stats_of(*one, *two)
    assert both.is_empty() == (not one and not two)


def test_the_log_line_has_means_sums_and_counts() -> None:
    assert stats_of(LOAD, LOAD, SAVE, FAILED).reduce() == {
        "load_duration_seconds (mean)": 0.25,
        "load_duration_seconds (sum)": 0.5,
        "load_blocks (mean)": 8,
        "load_blocks (sum)": 16,
        "save_duration_seconds (mean)": 0.5,
        "save_duration_seconds (sum)": 0.5,
        "save_blocks (mean)": 3,
        "save_blocks (sum)": 3,
        "load_success": 2,
        "load_failure": 1,
        "save_success": 1,
    }


def test_statistics_survive_the_way_between_processes_as_their_data() -> None:
    stats = stats_of(LOAD, FAILED)
    assert TransferStats(stats.data) == stats
    stats.reset()
    assert stats.is_empty()


def test_the_metrics_are_in_vllms_registry() -> None:
    registry = CollectorRegistry()

    def in_registry(kind: type) -> Any:
        return lambda **arguments: kind(registry=registry, **arguments)

    types = {Counter: in_registry(Counter), Histogram: in_registry(Histogram)}
    metrics = TransferMetrics(None, types, ["engine"], {0: ["0"], 1: ["1"]})
    metrics.observe(stats_of(LOAD, SAVE, FAILED, FAILED).data, 1)

    def value(name: str, engine: str) -> float | None:
        return registry.get_sample_value(f"vllm:pega_{name}", {"engine": engine})

    assert value("load_success_total", "1") == 1
    assert value("load_failure_total", "1") == 2
    assert value("load_duration_seconds_sum", "1") == 0.25
    assert value("save_blocks_sum", "1") == 3
    assert value("load_success_total", "0") is None


def test_statistics_read_as_an_object_and_as_what_crosses_processes() -> None:
    stats = TransferStats(data={"load_success": 1})
    assert stats["data"] is stats.data
