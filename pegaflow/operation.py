"""An operation that a daemon works on, from its begin to its result."""

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from pegaflow.document import parse
from pegaflow.models import Progress
from pegaflow.native import translated

if TYPE_CHECKING:
    from pegaflow import _native

_LOOK_S: Final = 0.1


class Operation:
    """One operation under way; Ctrl-C ends the wait for its next event, and loses no result."""

    def __init__(self, native: "_native.Operation") -> None:
        self._native = native
        self._progress = SimpleQueue[Progress | None]()
        self._end: str | BaseException | None = None
        threading.Thread(target=self._follow, daemon=True).start()

    def next(self) -> Progress | str:
        """The next event: how far it is or, from its end on, the result's JSON.

        Raises what the daemon refuses, and ``CallTimeout`` when it gives no sign of life.
        """
        # In short waits: a signal that comes just before a wait begins does not end it.
        while self._end is None or not self._progress.empty():
            try:
                progress = self._progress.get(timeout=_LOOK_S)
            except Empty:
                continue
            if progress is not None:
                return progress
        if isinstance(self._end, BaseException):
            raise self._end
        return self._end

    def cancel(self) -> None:
        """Ask the daemon to end it early; its result, with what is done, still comes."""
        self._native.cancel()

    def _follow(self) -> None:
        try:
            while self._end is None:
                with translated():
                    kind, text = self._native.next()
                if kind == "progress":
                    self._progress.put(parse(Progress, text))
                else:
                    self._end = text
        except BaseException as error:
            self._end = error
        self._progress.put(None)
