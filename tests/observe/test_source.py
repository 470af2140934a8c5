"""Reading a daemon over HTTP."""

import json
import re
import socket
import threading
from collections.abc import Iterator

import pytest

from pegaflow.errors import ConfigError, Unreachable
from pegaflow.observe.source import HttpSource, checked_url
from tests.cli.documents import status_document

_STATUS = json.dumps(status_document(last_event=None))


class ForgetfulDaemon:
    """Answers two requests on each connection, then closes it without a word."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        self.paths = list[str]()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Answer no more."""
        if self._socket.fileno() >= 0:
            self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection, connection.makefile("rwb") as stream:
                for _ in range(2):
                    path = stream.readline().decode().split()[1]
                    self.paths.append(path)
                    while stream.readline().strip():
                        pass
                    body = _STATUS.encode() if path == "/v1/status" else b""
                    stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
                    stream.write(body)
                    stream.flush()


@pytest.fixture
def daemon() -> Iterator[ForgetfulDaemon]:
    """A daemon that closes connections."""
    daemon = ForgetfulDaemon()
    try:
        yield daemon
    finally:
        daemon.close()


def test_a_connection_that_the_daemon_has_closed_is_made_anew(daemon: ForgetfulDaemon) -> None:
    source = HttpSource("here", lambda: daemon.url, 10.0)
    samples = [source.read() for _ in range(3)]
    source.close()
    assert [sample.status_json for sample in samples] == [_STATUS] * 3
    assert daemon.paths == ["/v1/status", "/metrics"] * 3
    assert daemon.connections == 3


def test_a_daemon_that_is_gone_is_asked_once_more_and_said_to_be_gone(
    daemon: ForgetfulDaemon,
) -> None:
    url = daemon.url
    source = HttpSource("here", lambda: url, 10.0)
    source.read()
    daemon.close()
    with pytest.raises(Unreachable, match=rf"{url}/v1/status does not answer: "):
        source.read()


@pytest.mark.parametrize(
    "text",
    [
        "ftp://x",
        "http://",
        "http://h:99999",
        "http://h:port",
        "http://h/path",
        "http://user:secret@h",
        "http://h/?a=b",
        "http://h/#there",
        "http://[::1",
    ],
)
def test_what_is_no_address_of_a_daemon_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match=f"^url {re.escape(repr(text))} cannot be used; allowed"):
        checked_url(text)
