"""SIGTERM and SIGHUP end the live view as q does: the terminal is left as it was."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_PATIENCE_S: Final = 10.0
"""How long the view may take to end: a terminal that takes nothing any more must not keep it."""


class App(Protocol):
    """The part of a Textual application that ends it."""

    def exit(self, result: None = None, return_code: int = 0) -> None:
        """Leave the terminal as it was, and return from ``run``."""


@contextmanager
def ended_by_signals(app: App, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """While ``app`` runs, signals end it with the return code that shells give them."""
    last_resorts = list[threading.Timer]()

    def end(number: int, _: object) -> None:
        code = 128 + number
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # The terminal is not changed yet, or no more.
            os._exit(code)
        last_resorts.append(threading.Timer(patience_s, os._exit, (code,)))
        last_resorts[-1].daemon = True
        last_resorts[-1].start()
        loop.call_soon_threadsafe(app.exit, None, code)

    # A signal that is ignored, as after nohup, stays so.
    found = {number: signal.getsignal(number) for number in _SIGNALS}
    taken: dict[signal.Signals, Any] = {
        number: before for number, before in found.items() if before != signal.SIG_IGN
    }
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, before in taken.items():
            signal.signal(number, before)
        for timer in last_resorts:
            timer.cancel()
