"""What is said to be worth a look, and from when on."""

from typing import Any

import pytest

from pegaflow.errors import ConfigError
from pegaflow.observe.reading import snapshot
from pegaflow.observe.thresholds import DEFAULTS, with_changes
from tests.cli.documents import ssd_path, status_document
from tests.observe.samples import blocks, histogram, sample

_LEASES: dict[str, Any] = {"held": 1, "blocks": 16, "bytes": 16777216}


def _quiet(**changes: Any) -> dict[str, Any]:
    transfers = status_document()["loads"]
    well = {"saves": transfers, "loads": transfers, "pool": _pool(no_space=0), "ssd": _ssd()}
    return well | changes


def _ssd(**changes: Any) -> dict[str, Any]:
    ssd: dict[str, Any] = status_document()["ssd"]
    return ssd | {"shortages": []} | changes


def _pool(**changes: Any) -> dict[str, Any]:
    pool: dict[str, Any] = status_document()["pool"]
    return pool | changes


def _raised(*changes: str, metrics: str = "", **fields: Any) -> list[tuple[str, str, str]]:
    """What is told of a second in which that happened."""
    before = sample(**_quiet(uptime_s=3724.5, blocks=blocks(0, 0, 0, 0)))
    found = snapshot(sample(metrics, **_quiet(**fields)), before, with_changes(changes))
    return [(alert.level, alert.panel, alert.subject) for alert in found.alerts]


def test_a_daemon_that_is_well_raises_nothing() -> None:
    assert _raised() == []


_TRANSFERS: dict[str, Any] = status_document()["loads"]
_SPIKES: dict[str, tuple[str, dict[str, Any]]] = {
    "failures": ("", {"loads": _TRANSFERS | {"failures": _TRANSFERS["failures"] + 3}}),
    "load-p99": (
        histogram("pegaflow_load_duration_seconds", {"1.0": 0, "5.0": 10, "+Inf": 10}),
        {},
    ),
    "lookup-p99": (
        histogram("pegaflow_lookup_duration_seconds", {"1.0": 0, "5.0": 10, "+Inf": 10}),
        {},
    ),
    "miss": ("", {"blocks": blocks(0, 0, 0, 90)}),
    "no-space": ("", {"pool": _pool(no_space=7)}),
    "unwritten": ('pegaflow_ssd_write_blocks_total{result="evicted"} 5000', {}),
}


@pytest.mark.parametrize("name", _SPIKES)
def test_what_is_long_over_is_told_to_nobody_who_comes_later(name: str) -> None:
    metrics, fields = _SPIKES[name]
    changes = with_changes(["miss=50,95"])
    first = sample(metrics, **_quiet(**fields))
    second = sample(metrics, **_quiet(**fields, uptime_s=3726.5))
    assert snapshot(first, None, changes).alerts == ()
    assert snapshot(second, first, changes).alerts == ()
    assert [one for *_, one in _raised("miss=50,95", metrics=metrics, **fields)] == [name]


def test_what_happened_since_a_restart_is_news() -> None:
    before = sample(**_quiet(boot_id="0123456789abcdef"))
    found = snapshot(sample(**_quiet(pool=_pool(no_space=7), uptime_s=0.5)), before)
    assert [alert.subject for alert in found.alerts] == ["no-space"]


def test_file_systems_that_are_too_small_are_told() -> None:
    found = snapshot(sample(**_quiet(ssd=_ssd(shortages=["/a may take more than there is"]))))
    assert [alert.text for alert in found.alerts] == ["/a may take more than there is"]


def test_a_path_that_is_offline_is_told_once() -> None:
    path = ssd_path("/a", state="offline", reason="I/O error")
    degraded: dict[str, Any] = {
        "state": "degraded",
        "reasons": ["ssd path /a is offline: I/O error"],
    }
    found = snapshot(sample(**_quiet(**degraded, ssd=_ssd(paths=[path]))))
    assert [alert.text for alert in found.alerts] == ["/a is offline: I/O error"]
    degraded["reasons"] = ["the self-test failed", *degraded["reasons"]]
    found = snapshot(sample(**_quiet(**degraded, ssd=_ssd(paths=[path]))))
    assert [alert.text for alert in found.alerts] == [
        "the self-test failed",
        "/a is offline: I/O error",
    ]


@pytest.mark.parametrize(
    ("age_s", "level"), [(119.0, None), (120.0, "warning"), (480.0, "critical")]
)
def test_old_leases_may_have_leaked(age_s: float, level: str | None) -> None:
    found = snapshot(sample(**_quiet(leases={**_LEASES, "oldest_s": age_s})))
    expected = [(level, "leases", "lease-age")] if level else []
    assert [(one.level, one.panel, one.subject) for one in found.alerts] == expected
    assert found.leases.suspect == (level is not None)


def test_misses_are_worth_a_word_only_when_asked_for() -> None:
    counts = blocks(10, 0, 0, 90)
    assert _raised(blocks=counts) == []
    assert _raised("miss=50,95", blocks=counts) == [("warning", "hits", "miss")]
    assert _raised("miss=50,90", blocks=counts) == [("critical", "hits", "miss")]


def test_slow_loads_are_told_in_the_window() -> None:
    slow = histogram("pegaflow_load_duration_seconds", {"1.0": 0, "5.0": 10, "+Inf": 10})
    assert _raised(metrics=slow) == [("critical", "latency", "load-p99")]
    assert _raised("load-p99=off", metrics=slow) == []


def test_counts_that_do_not_add_up_are_told() -> None:
    wrong = blocks(10, 5, 0, 5) | {"requested": 21}
    assert _raised(blocks=wrong) == [("critical", "hits", "blocks")]


def test_the_worst_comes_first() -> None:
    paths = [
        ssd_path("/a", state="degraded", reason="no O_DIRECT"),
        ssd_path("/b", state="offline", reason="gone"),
    ]
    assert _raised(ssd=_ssd(paths=paths)) == [
        ("critical", "tiers", "/b"),
        ("warning", "tiers", "/a"),
    ]


def test_an_engine_whose_workers_do_not_come_is_stale() -> None:
    engine = status_document()["engines"][0] | {"complete": False, "worker_pids": [101]}
    young, old = engine | {"attached_s": 10.0}, engine | {"attached_s": 31.0}
    assert _raised(engines=[young]) == []
    assert _raised(engines=[old]) == [("warning", "engines", "engine-a")]


@pytest.mark.parametrize(
    "text", ["", "miss", "miss=", "miss=9", "moon=1,2", "miss=9,1", "miss=-1,2"]
)
def test_other_thresholds_are_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used; allowed: NAME=WARNING,CRITICAL"):
        with_changes([text])


def test_the_defaults_stay_as_they_are() -> None:
    assert with_changes(["miss=1,2"])["age"] == DEFAULTS["age"]
    assert DEFAULTS["miss"].warning is None
