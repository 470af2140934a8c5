"""The typed client against a real daemon."""

import pytest

from pegaflow.client import Client
from pegaflow.errors import ConfigError, Unreachable
from tests.cli.installed import Host
from tests.engine.waiting import wait_until


def test_it_speaks_over_the_socket_and_over_http(host: Host) -> None:
    daemon = host.serve()
    client = Client(str(host.socket))
    wait_until(client.is_ready, "the pool is whole", 20)
    status = client.status()
    assert (status.pid, status.state, status.blocks.hit_rate) == (daemon.pid, "ready", None)
    assert "# TYPE pegaflow_pool_used_bytes gauge" in client.metrics()
    stopped = client.stop()
    assert (stopped.pid, stopped.pool_bytes_kept) == (daemon.pid, 0)


def test_a_daemon_that_went_is_unreachable_either_way(host: Host) -> None:
    # The port of others would be somebody else's by the time that it is asked.
    host.serve("--http-addr", "127.0.0.1:0")
    client = Client(str(host.socket))
    client.is_ready()
    client.stop()
    for call in (client.status, client.metrics, client.stop):
        with pytest.raises(Unreachable):
            call()


def test_a_timeout_that_is_none_is_refused(host: Host) -> None:
    with pytest.raises(ConfigError, match="timeout_s = -1"):
        Client(str(host.socket), -1).status()
