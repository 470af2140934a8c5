"""What commands that read traces say meanwhile and afterwards."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import note
from pegaflow.units import format_size

if TYPE_CHECKING:
    from pegaflow.planning import Trace

_PROGRESS_BYTES: Final = 256 << 20
_PATIENCE_S: Final = 10.0
"""So long people wait without a word."""


def reading_progress(context: AppContext) -> Callable[[int], None]:
    """Says now and then how many bytes were read."""
    said = 0

    def progress(done: int) -> None:
        nonlocal said
        if done >= said + _PROGRESS_BYTES:
            said = done
            note(context, f"{format_size(done)} read")

    return progress


def counting_progress(context: AppContext) -> Callable[[str], None]:
    """Says what is counted next, once counting takes long."""
    begun = time.monotonic()

    def progress(what: str) -> None:
        if time.monotonic() - begun >= _PATIENCE_S:
            note(context, f"counting {what}")

    return progress


def notes(context: AppContext, trace: "Trace") -> None:
    """What people should know of how the trace was read."""
    for line in trace.notes:
        note(context, line)
    for line in trace.skipped:
        note(context, f"skipped {line}")
    if trace.skipped_lines > len(trace.skipped):
        note(context, f"skipped {trace.skipped_lines} lines in all")
