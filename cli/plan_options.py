"""Which options of ``pegaflow plan`` go together."""

from typing import Final

import typer

from pegaflow.errors import ConfigError

_ALWAYS: Final = frozenset({"trace", "live", "json"})
_LIVE: Final = frozenset({"socket", "config", "timeout"})
"""Options of asking a daemon; all others are of reading a trace."""


def refuse_others(ctx: typer.Context, *, live: bool) -> None:
    """Raise ``ConfigError`` for a given option that the kind of plan has no use for."""
    for param in ctx.command.params:
        name = str(param.name)
        source = ctx.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in _ALWAYS:
            continue
        if (name in _LIVE) != live:
            kind = "--trace FILE" if live else "--live"
            raise ConfigError(f"{param.opts[0]} is for {kind}: leave one of the two out")
