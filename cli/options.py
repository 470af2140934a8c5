"""Options that several commands share; those of settings come from the table of settings."""

from typing import Annotated, Any

import typer

from pegaflow.config import SETTINGS
from pegaflow.errors import ConfigError
from pegaflow.units import DURATION_FORM, parse_duration


def setting(key: str) -> Any:
    """The option of a setting, with its flag and help; its text is parsed with all settings."""
    entry = SETTINGS[key]
    default = f"default: {entry.default}; " if isinstance(entry.default, str) else ""
    return typer.Option(
        entry.flag,
        help=f"{entry.help} [{default}environment: {entry.variable}]",
        metavar=entry.kind.metavar,
        show_default=False,
    )


ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The configuration file. [environment: PEGAFLOW_CONFIG]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write the result as one line of JSON.")]
Socket = Annotated[str | None, setting("socket")]
Timeout = Annotated[str, typer.Option("--timeout", metavar="DURATION", help="How long to wait.")]


def timeout_seconds(text: str) -> float:
    """Seconds of the option ``--timeout``."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ConfigError(f"--timeout {text!r} cannot be used; allowed: {DURATION_FORM}") from error
