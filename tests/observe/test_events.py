"""What is told to have happened between two samples."""

from dataclasses import replace
from typing import Any

import pytest

from pegaflow.event_models import LoggedEvent
from pegaflow.observe.history import History
from pegaflow.observe.sample import Sample
from tests.cli.documents import ssd_path, status_document
from tests.observe.samples import sample


def _told(before: dict[str, Any], after: dict[str, Any], metrics: str = "") -> list[str]:
    history = History()
    history.add(sample(**before))
    history.events.clear()
    history.add(sample(metrics, **after))
    return [event.text for event in history.events]


def _engine(name: str, **changes: Any) -> dict[str, Any]:
    engine: dict[str, Any] = status_document()["engines"][0]
    return engine | {"engine_id": name} | changes


def _ssd(**changes: Any) -> dict[str, Any]:
    ssd: dict[str, Any] = status_document()["ssd"]
    return ssd | {"paths": [ssd_path("/a", **changes)]}


def test_the_first_sample_says_what_there_is() -> None:
    history = History()
    history.add(sample())
    assert [event.text for event in history.events] == ["daemon 4321 is ready, up 1 h 2 m"]


def test_nothing_happens_between_equal_samples() -> None:
    assert _told({}, {}) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"engines": []}, {"engines": [_engine("e1")]}, ["engine e1 attached (some/model)"]),
        ({"engines": [_engine("e1")]}, {"engines": []}, ["engine e1 left (some/model)"]),
        (
            {"engines": [_engine("e1", worker_pids=[1])]},
            {"engines": [_engine("e1", worker_pids=[1, 2])]},
            ["engine e1 has 2 of 2 workers"],
        ),
        (
            {"engines": [_engine("e1", scheduler_pid=1)]},
            {"engines": [_engine("e1", scheduler_pid=1), _engine("e1", scheduler_pid=2)]},
            ["engine e1 attached (some/model)"],
        ),
        (
            {"engines": [_engine("e1", scheduler_pid=1), _engine("e1", scheduler_pid=2)]},
            {"engines": [_engine("e1", scheduler_pid=2)]},
            ["engine e1 left (some/model)"],
        ),
        ({"state": "starting"}, {"state": "ready"}, ["the daemon is ready, was starting"]),
        (
            {"ssd": _ssd()},
            {"ssd": _ssd(state="offline", reason="gone")},
            ["/a is offline, was online: gone"],
        ),
        ({"ssd": _ssd()}, {"ssd": None}, ["/a left the ssd tier"]),
        ({"ssd": None}, {"ssd": _ssd()}, ["/a joined the ssd tier"]),
        ({"ssd": _ssd()}, {"ssd": _ssd(corrupt_blocks=2)}, ["2 corrupt blocks dropped"]),
        (
            {"boot_id": "a" * 16},
            {
                "boot_id": "b" * 16,
                "saves": status_document()["loads"],
                "ssd": None,
            },
            [
                f"the daemon restarted: {'a' * 16} ended, {'b' * 16} began",
                "/mnt/nvme0/pegaflow left the ssd tier",
            ],
        ),
    ],
)
def test_what_changes_is_told(
    before: dict[str, Any], after: dict[str, Any], told: list[str]
) -> None:
    assert _told(before, after) == told


def _space(**changes: Any) -> dict[str, Any]:
    space: dict[str, Any] = status_document()["namespaces"][0]
    return space | {"namespace": "ab" * 16} | changes


@pytest.mark.parametrize("logged", [None, ()])
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            {"ssd": _ssd(capacity_bytes=64 << 20)},
            {"ssd": _ssd(capacity_bytes=96 << 20)},
            ["/a holds 96 MiB, was 64 MiB"],
        ),
        (
            {"namespaces": [_space()]},
            {"namespaces": [_space(quota_bytes=32 << 20)]},
            ["namespace abababababab has quota 32 MiB, was none"],
        ),
        (
            {"namespaces": [_space(quota_bytes=32 << 20)]},
            {"namespaces": [_space(quota_bytes=None)]},
            ["namespace abababababab has quota none, was 32 MiB"],
        ),
        (
            {"namespaces": [_space()]},
            {"namespaces": [_space(pinned=True)]},
            ["namespace abababababab is pinned"],
        ),
    ],
)
def test_what_an_operator_changes_is_told_with_and_without_a_log(
    before: dict[str, Any],
    after: dict[str, Any],
    told: list[str],
    logged: tuple[LoggedEvent, ...] | None,
) -> None:
    history = History()
    history.add(replace(sample(**before), events=logged))
    history.events.clear()
    history.add(replace(sample(**after), events=logged))
    assert [event.text for event in history.events] == told


def test_sizes_of_another_start_are_no_change() -> None:
    before = {"boot_id": "a" * 16, "ssd": _ssd(capacity_bytes=64 << 20)}
    after = {
        "boot_id": "b" * 16,
        "saves": status_document()["loads"],
        "ssd": _ssd(capacity_bytes=96 << 20),
    }
    assert _told(before, after) == [
        f"the daemon restarted: {'a' * 16} ended, {'b' * 16} began",
    ]


def test_leases_that_end_otherwise_than_by_a_load_are_told() -> None:
    name = "pegaflow_leases_ended_total"
    metrics = f'{name}{{reason="loaded"}} 9\n{name}{{reason="expired"}} 3\n'
    assert _told({}, {}, metrics) == ["3 leases expired"]


def test_the_daemon_s_own_log_is_told_instead_of_what_can_be_compared() -> None:
    logged = LoggedEvent(3, 1_700_000_000.5, "engine", "warning", "e1", "engine e1: it is gone")
    history = History()
    history.add(sample(engines=[_engine("e1")], state="ready"))
    history.events.clear()
    after = sample(
        'pegaflow_leases_ended_total{reason="expired"} 3\n', engines=[], state="degraded"
    )
    history.add(replace(after, events=(logged,)))
    assert [(event.level, event.text) for event in history.events] == [
        ("warning", "engine e1: it is gone"),
        ("warning", "3 leases expired"),
    ]


def test_a_recording_keeps_the_log() -> None:
    logged = LoggedEvent(
        3, 1_700_000_000.5, "path", "critical", "/mnt/a", "ssd path /mnt/a is gone"
    )
    for events in (None, (), (logged,)):
        kept = replace(sample(), events=events)
        assert Sample.of_line(kept.line()).events == events
