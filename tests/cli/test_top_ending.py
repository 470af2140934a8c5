"""How signals end the live view."""

import asyncio
import os
import signal
import threading

import pytest

from pegaflow.cli.top.ending import ended_by_signals


class _View:
    """A view that ends when it is told to, or ``hangs``."""

    def __init__(self, *, hangs: bool) -> None:
        self._ends = asyncio.Event()
        self._hangs = hangs
        self.return_code = 0

    def exit(self, result: None = None, return_code: int = 0) -> None:
        self.return_code = return_code
        if not self._hangs:
            self._ends.set()

    async def run(self, number: signal.Signals) -> None:
        signal.raise_signal(number)
        await asyncio.wait_for(self._ends.wait(), 60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_tells_the_view_to_end_and_is_as_before_then(number: signal.Signals) -> None:
    before, view = signal.getsignal(number), _View(hangs=False)
    with ended_by_signals(view):
        asyncio.run(view.run(number))
    assert view.return_code == 128 + number
    assert signal.getsignal(number) is before


def test_a_view_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    left, code = threading.Event(), list[int]()

    def leave(status: int) -> None:
        code.append(status)
        left.set()

    monkeypatch.setattr(os, "_exit", leave)

    async def hang() -> None:
        signal.raise_signal(signal.SIGTERM)
        assert await asyncio.to_thread(left.wait, 60)

    with ended_by_signals(_View(hangs=True), patience_s=0.01):
        asyncio.run(hang())
    assert code == [143]


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals(_View(hangs=False)):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
