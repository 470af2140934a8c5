"""The live view, where there is a terminal for it."""

from collections.abc import Mapping, Sequence

from pegaflow.cli.context import AppContext
from pegaflow.errors import ConfigError
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
    *,
    ascii_only: bool,
) -> None:
    """Show the dashboard until the user quits."""
    try:
        from pegaflow.tui.app import TopApp
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the live view needs {error.name}, which is not installed: "
            "`pip install 'pegaflow-kv[tui]'`, or use --stat"
        ) from error
    encoding = (context.stdout.encoding or "").lower().replace("-", "")
    TopApp(
        sources,
        thresholds=thresholds,
        interval_s=interval_s,
        ascii_only=ascii_only or encoding != "utf8",
    ).run()
