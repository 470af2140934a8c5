"""Talks to a daemon: over its socket, and over HTTP at the address that the socket gives."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pegaflow import _native
from pegaflow.document import parse
from pegaflow.errors import CallTimeout, Unreachable, clause
from pegaflow.file_names import daemon_json
from pegaflow.models import Status, Stopped
from pegaflow.native import interruptible, translated
from pegaflow.operation import Operation

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class Client:
    """A daemon at ``socket``; each call raises ``CallTimeout`` after ``timeout_s`` seconds.

    Every call but ``purge`` raises ``Unreachable`` when no daemon answers.
    """

    socket: str
    timeout_s: float = 5.0

    def status_json(self) -> str:
        """The daemon's status document, as it came."""
        with translated():
            return interruptible(lambda: _native.status(self.socket, self.timeout_s))

    def status(self) -> Status:
        """The daemon's status."""
        return parse(Status, self.status_json())

    def stop(self, *, purge: bool = False) -> Stopped:
        """Drain and end the daemon; returns when its process has ended."""
        with translated():
            stopped = interruptible(lambda: _native.stop(self.socket, purge, self.timeout_s))
        return parse(Stopped, stopped)

    def purge(self, pool_dir: str | None) -> int:
        """Free the pool that an ended daemon left; the bytes of memory that it took, 0 for none."""
        with translated():
            return interruptible(lambda: _native.purge(self.socket, pool_dir))

    def operate(self, name: str, **fields: Any) -> Operation:
        """Begin an operation on tiers or namespaces; ``schemas/operation.schema.json`` has them.

        ``CallTimeout`` is raised when the daemon gives no sign of life for ``timeout_s`` seconds;
        the operation itself may take longer.
        """
        request = daemon_json({"operation": name, **fields})
        with translated():
            native = interruptible(lambda: _native.Operation(self.socket, request, self.timeout_s))
        return Operation(native)

    def evict_namespace(self, namespace: str) -> None:
        """Evict a namespace, which its 64 digits name, from all tiers; returns when it is done."""
        operation = self.operate("namespace-evict", namespace=namespace)
        while not isinstance(operation.next(), str):
            pass

    def is_ready(self) -> bool:
        """Whether /readyz says that all of the cache is there."""
        return self._get("/readyz").is_success

    def events_json(self, after: int, wait_s: float) -> str:
        """What happened after the event with this number; waits so long for the next one."""
        return self._get(f"/v1/events?after={after}&wait={wait_s:g}", wait_s).text

    def metrics(self) -> str:
        """The metrics, in Prometheus' text form."""
        return self._get("/metrics").text

    def _get(self, path: str, wait_s: float = 0.0) -> "httpx.Response":
        import httpx

        url = f"http://{self._http_addr}{path}"
        try:
            return httpx.get(url, timeout=self.timeout_s + wait_s, trust_env=False)
        except httpx.TimeoutException as error:
            raise CallTimeout(f"{url} did not answer within {self.timeout_s} s") from error
        except httpx.TransportError as error:
            raise Unreachable(f"{url} does not answer: {clause(error)}") from error

    @cached_property
    def _http_addr(self) -> str:
        return self.status().http_addr
