"""Telling people that what takes long still goes on, where nothing says how far it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import can_redraw, error_console, note
from pegaflow.units import format_duration

_LONG_S: Final = 2.0
"""What takes longer is told; where lines stay again whenever it is twice as long."""


@contextmanager
def waiting(context: AppContext, what: str) -> Iterator[None]:
    """Say on standard error that ``what`` goes on, if the block takes long."""
    ended = Event()
    teller = Thread(target=_tell, args=(context, what, ended), daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def _tell(context: AppContext, what: str, ended: Event) -> None:
    if ended.wait(_LONG_S):
        return
    if can_redraw(context, context.stderr):
        with error_console(context).status(what):
            ended.wait()
        return
    passed_s = _LONG_S
    while True:
        note(context, f"{what}, for {format_duration(passed_s)} by now")
        if ended.wait(passed_s):
            return
        passed_s *= 2
