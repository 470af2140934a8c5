"""Where samples come from: a daemon's HTTP endpoints."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final, Protocol
from urllib.parse import urlsplit

from pegaflow.errors import CallTimeout, ConfigError, PegaflowError, Unreachable, clause
from pegaflow.event_models import LoggedEvent
from pegaflow.models import Status
from pegaflow.observe.event_reader import EventReader
from pegaflow.observe.sample import Sample
from pegaflow.observe.series import Series
from pegaflow.units import format_size

_PIECE_BYTES: Final = 1 << 16
_MOST_BYTES: Final = 64 << 20
"""Of one answer: the status of ten thousand engines has a tenth of it."""


class Source(Protocol):
    """Gives samples of one daemon."""

    @property
    def host(self) -> str:
        """What people call the daemon."""

    def read(self) -> Sample:
        """The daemon now; raises ``Unreachable`` or ``CallTimeout`` when it does not answer."""

    def close(self) -> None:
        """Let go of connections."""


class HttpSource:
    """A daemon at an ``http://`` address, which is found anew after each failure."""

    def __init__(
        self,
        host: str,
        find: Callable[[], str],
        timeout_s: float,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.host = host
        self.find = find
        """Where the daemon is now."""
        self._timeout_s = timeout_s
        self._clock = clock
        self._connection: HTTPConnection | None = None
        self._base = ""
        self._events = EventReader(lambda after, _: self._get(f"/v1/events?after={after}"))

    def read(self) -> Sample:
        """The daemon now, from ``/v1/status``, ``/metrics`` and, for news, ``/v1/events``."""
        try:
            status = self._get("/v1/status")
            sample = Sample(self.host, self._clock(), status, Series.of(self._get("/metrics")))
            return replace(sample, events=self._new_events(sample.status))
        except PegaflowError:
            self.close()
            raise

    def status(self) -> str:
        """The status document alone."""
        return self._get("/v1/status")

    def _new_events(self, status: Status) -> tuple[LoggedEvent, ...] | None:
        if status.last_event is None:
            return None
        events = list[LoggedEvent]()
        while not self._events.has(status.boot_id, status.last_event):
            before = self._events.position
            events.extend(self._events.read())
            if self._events.position == before:
                # The log ends before what the status says.
                break
        return tuple(events)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _get(self, path: str) -> str:
        is_kept = self._connection is not None
        try:
            return self._ask(path)
        except Unreachable as error:
            # The daemon may have closed a connection that it heard nothing on.
            if not is_kept or not isinstance(error.__cause__, ConnectionError):
                raise
            self.close()
            return self._ask(path)

    def _ask(self, path: str) -> str:
        if self._connection is None:
            self._base = self.find()
            self._connection = _connection(self._base, self._timeout_s)
        url = f"{self._base}{path}"
        try:
            self._connection.request("GET", path)
            waits = self._connection.sock
            answer = self._connection.getresponse()
            text = self._body(answer, waits).decode("utf-8", "replace")
        except TimeoutError as error:
            raise CallTimeout(f"{url} did not answer within {self._timeout_s:g} s") from error
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{url} does not answer: {clause(error)}") from error
        if answer.status != HTTPStatus.OK:
            raise Unreachable(f"{url} answered {answer.status}: is it a PegaFlow daemon's?")
        return text

    def _body(self, answer: HTTPResponse, waits: socket.socket) -> bytes:
        """All of the answer, which comes in time and is of some size."""
        deadline, pieces, size = time.monotonic() + self._timeout_s, list[bytes](), 0
        while True:
            if (left := deadline - time.monotonic()) <= 0:
                raise TimeoutError
            # One that is closed has nothing to wait for.
            with suppress(OSError):
                waits.settimeout(left)
            if not (piece := answer.read1(_PIECE_BYTES)):
                break
            pieces.append(piece)
            size += len(piece)
            if size > _MOST_BYTES:
                raise HTTPException(f"its answer has more than {format_size(_MOST_BYTES)}")
        # Of an answer whose length was told the pieces alone are no end.
        answer.close()
        with suppress(OSError):
            waits.settimeout(self._timeout_s)
        return b"".join(pieces)


def _connection(base: str, timeout_s: float) -> HTTPConnection:
    """A connection of the standard library, which costs a third of what httpx takes."""
    address = urlsplit(base)
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    return kind(address.hostname or "", address.port, timeout=timeout_s)


def checked_url(text: str) -> str:
    """The address of a daemon's HTTP interface; raises ``ConfigError`` for what is none.

    >>> checked_url("gpu-7:9091"), checked_url("http://[::1]:9091/")
    ('http://gpu-7:9091', 'http://[::1]:9091')
    """
    import httpx

    try:
        url = httpx.URL(text if "://" in text else f"http://{text}")
        is_address = url.scheme in ("http", "https") and url.host and url.path in ("", "/")
        if not is_address or url.userinfo or url.query or url.fragment:
            raise ValueError(text)
        # What httpx lets pass, the connections of the standard library do not.
        _connection(str(url), 1.0)
    except (ValueError, httpx.InvalidURL) as error:
        raise ConfigError(
            f"url {text!r} cannot be used; allowed: an address such as http://gpu-7:9091"
        ) from error
    return str(url).rstrip("/")
