"""The live view, where there is a terminal for it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pegaflow.cli.context import AppContext
from pegaflow.errors import ConfigError
from pegaflow.observe.player import Player
from pegaflow.observe.recording import Recording
from pegaflow.observe.source import Source
from pegaflow.observe.thresholds import Threshold


def can_be_live(context: AppContext) -> bool:
    """Whether standard input and output are a terminal that can move its cursor."""
    terminal = context.environ.get("TERM", "dumb")
    return context.stdin.isatty() and context.stdout.isatty() and terminal != "dumb"


def show(
    context: AppContext,
    sources: Sequence[Source],
    thresholds: Mapping[str, Threshold],
    interval_s: float,
    ascii_only: bool,
) -> None:
    """Show the dashboard until the user quits."""
    with _textual():
        from pegaflow.tui.app import TopApp
    TopApp(
        sources,
        thresholds=thresholds,
        interval_s=interval_s,
        ascii_only=ascii_only or _is_ascii(context),
    ).run()


def replay(
    context: AppContext,
    recording: Recording,
    thresholds: Mapping[str, Threshold],
    ascii_only: bool,
) -> None:
    """Show the dashboard over a recording until the user quits."""
    with _textual():
        from pegaflow.tui.replay import ReplayApp
    ReplayApp(
        Player(recording), thresholds=thresholds, ascii_only=ascii_only or _is_ascii(context)
    ).run()


@contextmanager
def _textual() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the live view needs {error.name}, which is not installed: "
            "`pip install 'pegaflow-kv[tui]'`, or use --stat"
        ) from error


def _is_ascii(context: AppContext) -> bool:
    return (context.stdout.encoding or "").lower().replace("-", "") != "utf8"
