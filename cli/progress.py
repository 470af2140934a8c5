"""How far an operation is: a bar on a terminal, a line for each tenth elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import can_redraw, error_console, note
from pegaflow.models import Progress
from pegaflow.units import format_count, format_duration, format_size

if TYPE_CHECKING:
    import rich.progress

_STEPS: Final = 10
"""Parts of an operation, a line for the end of each."""

_IDLE_S: Final = 10.0
"""So long without progress is told; again whenever it is twice as long."""


class ProgressDisplay:
    """Shows progress on standard error, from ``delay_s`` seconds after its begin on."""

    def __init__(self, context: AppContext, title: str, delay_s: float) -> None:
        self._begun = self._changed = time.monotonic()
        self._delay_s = delay_s
        self._idle_s = _IDLE_S
        self._last: Progress | None = None
        self._shown: _Shown
        self._shown = (_Bar if can_redraw(context, context.stderr) else _Lines)(context, title)

    def update(self, progress: Progress) -> None:
        """Show that it is so far, and that it does not get further."""
        now = time.monotonic()
        if progress != self._last:
            self._last, self._changed, self._idle_s = progress, now, _IDLE_S
        if now - self._begun >= self._delay_s:
            self._shown.update(progress, now - self._begun)
        if (idle_s := now - self._changed) >= self._idle_s:
            self._idle_s = 2 * idle_s
            self.say(f"no progress for {format_duration(idle_s)}, the daemon works on it still")

    def say(self, text: str) -> None:
        """Write a line, whatever is shown."""
        self._shown.say(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._shown.close()


class _Shown(Protocol):
    """One way to show progress."""

    def update(self, progress: Progress, seconds: float) -> None:
        """Show that it is so far, so many seconds after its begin."""

    def say(self, text: str) -> None:
        """Write a line above what is shown."""

    def close(self) -> None:
        """Show nothing any more."""


class _Lines:
    """A line for each tenth that is done."""

    def __init__(self, context: AppContext, title: str) -> None:
        self._context, self._title = context, title
        self._step = 0

    def update(self, progress: Progress, seconds: float) -> None:
        step = progress.bytes * _STEPS // max(progress.bytes_expected, 1)
        # The end has a line of its own: the result.
        if self._step < step < _STEPS:
            self._step = step
            percent = step * 100 // _STEPS
            note(self._context, f"{self._title}: {percent}%, {_sentence(progress, seconds)}")

    def say(self, text: str) -> None:
        note(self._context, f"{self._title}: {text}")

    def close(self) -> None:
        """Lines stay."""


class _Bar:
    """A bar with rate and time left, which goes at the end."""

    def __init__(self, context: AppContext, title: str) -> None:
        self._context, self._title = context, title
        self._live: rich.progress.Progress | None = None

    def update(self, progress: Progress, seconds: float) -> None:
        live = self._live or self._start()
        live.update(
            live.task_ids[0],
            completed=progress.bytes,
            total=progress.bytes_expected or None,
            sentence=_sentence(progress, seconds),
        )

    def say(self, text: str) -> None:
        live = self._live or self._start()
        live.console.print(f"pegaflow: {self._title}: {text}")

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _start(self) -> "rich.progress.Progress":
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Live

        self._live = live = Live(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[sentence]}"),
            console=error_console(self._context),
            transient=True,
        )
        live.add_task(self._title, total=None, sentence="")
        live.start()
        return live


def _sentence(progress: Progress, seconds: float) -> str:
    """So much, how fast, and how long it goes on."""
    if not progress.bytes_expected:
        return f"{format_size(progress.bytes)}, {format_count(progress.blocks, 'block')}"
    rate = progress.bytes / max(seconds, 1e-9)
    text = (
        f"{format_size(progress.bytes)} of {format_size(progress.bytes_expected)}, "
        f"{format_size(int(rate))}/s"
    )
    if rate:
        left = max(progress.bytes_expected - progress.bytes, 0)
        text += f", {format_duration(left / rate)} left"
    return text
