"""What engines and daemons may leave behind: nothing."""

from pathlib import Path
from typing import Any, Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until

RELEASE_S: Final = 5.0
"""The failure contract's bound for what an engine that has ended leaves at the daemon."""

_GAUGES: Final = (
    "pegaflow_cache_pinned_blocks",
    "pegaflow_engine_sessions",
    "pegaflow_inflight_pages",
    "pegaflow_lease_blocks",
    "pegaflow_lease_bytes",
    "pegaflow_lease_oldest_age_seconds",
    "pegaflow_leases",
    "pegaflow_load_in_flight",
    "pegaflow_partial_blocks",
    "pegaflow_registrations",
    "pegaflow_save_in_flight",
)


def descriptors(pid: int | str = "self") -> int:
    """Open file descriptors of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def threads(pid: int | str = "self") -> int:
    """Threads of a process."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def grant_files(daemon: DaemonProcess) -> list[Path]:
    """The grant files of all registered workers."""
    return list(Path(f"{daemon.socket}.grants").iterdir())


def gauges(daemon: DaemonProcess) -> dict[str, float]:
    """The daemon's gauges of things under way that are not zero; all are expected to be there."""
    url = f"http://{daemon.status()['http_addr']}/metrics"
    text = httpx.get(url, trust_env=False).raise_for_status().text
    values: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in _GAUGES:
                values[sample.name] = values.get(sample.name, 0) + sample.value
    assert sorted(values) == sorted(_GAUGES)
    return {name: value for name, value in values.items() if value}


def assert_daemon_is_idle(daemon: DaemonProcess, engines: int = 0) -> None:
    """Within the bound nothing is under way, and ``engines`` whole engines are attached."""
    attached = {
        "pegaflow_engine_sessions": 2.0 * engines,
        "pegaflow_registrations": 1.0 * engines,
    }
    expected = attached if engines else {}
    state: dict[str, Any] = {}

    def is_idle() -> bool:
        state.update(gauges=gauges(daemon), grants=len(grant_files(daemon)))
        return bool(state["gauges"] == expected and state["grants"] == engines)

    wait_until(is_idle, f"the daemon is idle: {state}", RELEASE_S)
