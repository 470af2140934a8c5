"""The live view, where there is a terminal for it."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import can_redraw
from pegaflow.cli.top.ending import ended_by_signals
from pegaflow.errors import ConfigError
from pegaflow.observe.operator import Operator
from pegaflow.observe.player import Player
from pegaflow.observe.recording import Recording
from pegaflow.observe.source import Source
from pegaflow.observe.thresholds import Threshold

if TYPE_CHECKING:
    from pegaflow.tui.app import TopApp


@dataclass(frozen=True)
class Taste:
    """How the user likes the live view."""

    thresholds: Mapping[str, Threshold]
    ascii_only: bool
    keys: Mapping[str, str]
    theme: str | None


def can_be_live(context: AppContext) -> bool:
    """Whether standard input and output are a terminal that can move its cursor."""
    return context.stdin.isatty() and can_redraw(context, context.stdout)


def show(
    context: AppContext,
    sources: Sequence[Source],
    interval_s: float,
    taste: Taste,
    operators: Mapping[str, Operator],
) -> None:
    """Show the dashboard until the user quits; ``operators`` change daemons, by their names."""
    with _textual():
        from pegaflow.tui.app import TopApp
    app = TopApp(sources, interval_s=interval_s, operators=operators, **_options(context, taste))
    # What is loaded stays, and a reading leaves few cycles: looking for them takes a tenth.
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    _run(app)


def replay(
    context: AppContext,
    recording: Recording,
    taste: Taste,
) -> None:
    """Show the dashboard over a recording until the user quits."""
    with _textual():
        from pegaflow.tui.replay import ReplayApp
    _run(ReplayApp(Player(recording), **_options(context, taste)))


def _run(app: "TopApp") -> None:
    with ended_by_signals(app):
        app.run()
    if app.return_code:
        raise typer.Exit(app.return_code)


@contextmanager
def _textual() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the live view needs {error.name}, which is not installed: "
            "`pip install 'pegaflow-kv[tui]'`, or use --stat"
        ) from error


def _options(context: AppContext, taste: Taste) -> dict[str, Any]:
    encoding = (context.stdout.encoding or "").lower().replace("-", "")
    return {
        "thresholds": taste.thresholds,
        "ascii_only": taste.ascii_only or encoding != "utf8",
        "keymap": taste.keys,
        "theme": taste.theme,
    }
