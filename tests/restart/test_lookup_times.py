"""No daemon, whatever happens to it, holds vLLM's scheduler longer than the contract says."""

import statistics

import pytest

from tests.engine.daemon import DaemonProcess
from tests.restart.connected_engine import ConnectedEngine
from tests.restart.lookup_times import EVENTS, LEAST_CALLS, LookupTimes, p99

pytestmark = pytest.mark.timeout(600)

BOUND_S = 0.005
"""The failure contract's bound for one lookup call."""

ENOUGH = 20
"""Waiting calls of which the middle one says something; only a stopped daemon makes so many."""

WAITED_S = 0.002
"""Calls that took longer were waiting for an answer."""


@pytest.mark.parametrize("event", EVENTS)
def test_a_lookup_call_takes_at_most_5_ms_while_the_daemon_is(
    event: str, daemon: DaemonProcess, engine: ConnectedEngine
) -> None:
    times = LookupTimes(daemon, engine, event)

    assert len(times.calls) >= LEAST_CALLS
    # A machine that wakes threads late is not the connector's: ten times as late is allowed.
    assert p99(times.calls) <= BOUND_S + 10 * p99(times.late_wakes)
    # That allows a busy machine much; what calls wait themselves shows in the middle one.
    waits = [seconds for seconds in times.calls if seconds > WAITED_S]
    if len(waits) >= ENOUGH:
        middle = statistics.median(waits)
        assert middle <= BOUND_S + 2 * statistics.median(times.late_wakes)
