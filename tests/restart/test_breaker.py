"""An engine that a hanging daemon made go on without the cache tells it once the daemon answers."""

import os
import signal

from prometheus_client.parser import text_string_to_metric_families

from pegaflow.client import Client
from tests.cli.conftest import host
from tests.cli.installed import Host
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import HASH_BYTES, EngineMemory, Shape

__all__ = ["host"]

_PATIENCE_S = 60.0
_SERIES = "pegaflow_engine_breaker_openings_total"


def _openings(client: Client) -> float:
    families = text_string_to_metric_families(client.metrics())
    samples = (sample for family in families for sample in family.samples)
    return next(sample.value for sample in samples if sample.name == _SERIES)


def test_a_daemon_that_hung_hears_of_it(host: Host) -> None:
    daemon = host.serve()
    client = Client(str(host.socket))
    hashes = fresh_hashes(1)
    packed = b"".join(hashes)
    with AttachedEngine(host.socket, EngineMemory(Shape(2, 1, 4096))) as engine:
        engine.hit_count(hashes)
        assert _openings(client) == 0
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            request = engine.new_request()
            wait_until(
                lambda: engine.scheduler.lookup(request, packed, HASH_BYTES, 0.01).state == "off",
                "the lookup is given up",
                _PATIENCE_S,
            )
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
        wait_until(lambda: _openings(client) == 1, "the daemon hears of it", _PATIENCE_S)
        assert "went without the cache 1 time" in client.events_json(0, 0)
