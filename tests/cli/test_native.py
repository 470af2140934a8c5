"""Waiting for the native module."""

import signal
import threading
from collections.abc import Callable

import pytest

from pegaflow.native import interruptible


@pytest.mark.timeout(30)
def test_ctrl_c_ends_a_wait_also_when_nothing_wakes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    start: Callable[[threading.Thread], None] = threading.Thread.start
    never = threading.Event()

    def start_and_interrupt(thread: threading.Thread) -> None:
        start(thread)
        # The thread takes the signal, so that it does not wake the one that waits.
        assert thread.ident is not None
        signal.pthread_kill(thread.ident, signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", start_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        interruptible(never.wait)
    never.set()
