"""Reading a daemon over HTTP."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pegaflow.errors import CallTimeout, ConfigError, Unreachable
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


class _Dripping(ForgetfulDaemon):
    """Answers with one byte after the other, without an end."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        super().__init__()

    def _serve(self) -> None:
        with suppress(OSError):
            connection, _ = self._socket.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                while True:
                    connection.sendall(b" " * (1 if self._pause_s else 4096))
                    time.sleep(self._pause_s)


def test_an_answer_that_drips_is_given_up_in_time() -> None:
    daemon = _Dripping(0.01)
    source = HttpSource("here", lambda: daemon.url, 0.5)
    began = time.monotonic()
    with pytest.raises(CallTimeout, match=r"did not answer within 0\.5 s"):
        source.read()
    assert time.monotonic() - began < 20
    daemon.close()


def test_an_answer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegaflow.observe.source._MOST_BYTES", 1 << 20)
    daemon = _Dripping(0)
    with pytest.raises(Unreachable, match="its answer has more than 1 MiB"):
        HttpSource("here", lambda: daemon.url, 60.0).read()
    daemon.close()


def test_a_log_that_ends_before_what_the_status_says_is_read_to_its_end() -> None:
    answers = {
        "/v1/status": json.dumps(status_document(last_event=25)),
        "/metrics": "",
        "/v1/events?after=0": json.dumps(
            {"boot_id": status_document()["boot_id"], "lost": 0, "last": 0, "events": []}
        ),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answers[self.path].encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        sample = HttpSource("x", lambda: f"http://127.0.0.1:{server.server_port}", 10.0).read()
        server.shutdown()
        thread.join()
    assert sample.events == ()


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
