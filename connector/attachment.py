"""Tells the log when the daemon comes, goes or refuses this process."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pegaflow.connector.shield import log

if TYPE_CHECKING:
    from pegaflow._native import SchedulerClient, WorkerClient

_EVERY_S: Final = 1.0


class Attachment:
    """Looks at a session about once a second, when it is shown one; logs each change once."""

    def __init__(self, socket: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._socket = socket
        self._clock = clock
        self._next_look: float | None = None
        self._attached: bool | None = None
        self._refusal: str | None = None

    def is_hopeless(self) -> bool:
        """Whether there is not even a socket that this process may use."""
        return not os.access(self._socket, os.W_OK)

    def look(self, client: "SchedulerClient | WorkerClient") -> None:
        """Log whether the session is attached, if that has changed."""
        if not self._is_due():
            return
        attached = client.attached()
        if attached and not self._attached:
            log.info("attached to the daemon at %s", self._socket)
        elif not attached and self._attached is not False:
            log.warning("%s", self._complaint())
        self._attached = attached

    def look_for_refusal(self, client: "WorkerClient") -> None:
        """Log why the daemon refuses a worker, if it does and that is new."""
        if not self._is_due():
            return
        refusal = client.last_error()
        if refusal and refusal != self._refusal:
            log.warning("the daemon at %s refuses this worker: %s", self._socket, refusal)
        self._refusal = refusal

    def _complaint(self) -> str:
        if _is_forbidden(self._socket):
            return (
                f"this user may not use the socket {self._socket}: serving without the cache "
                "(run vLLM as the daemon's user, or start the daemon with `--socket-group`)"
            )
        return (
            f"no daemon answers at {self._socket}: serving without the cache until one does "
            "(start one with `pegaflow serve`)"
        )

    def _is_due(self) -> bool:
        now = self._clock()
        if self._next_look is None:
            self._next_look = now + _EVERY_S
        if now < self._next_look:
            return False
        self._next_look = now + _EVERY_S
        return True


def _is_forbidden(socket: str) -> bool:
    """Whether there is a socket, or may be one, that this process may not connect to."""
    try:
        Path(socket).stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return not os.access(socket, os.W_OK)
