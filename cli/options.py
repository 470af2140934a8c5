"""Options that several commands share; those of settings come from the table of settings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pegaflow.config import SETTINGS
from pegaflow.config.kinds import SWITCH
from pegaflow.errors import ConfigError
from pegaflow.file_names import NAME_FORM, local_name
from pegaflow.printable import quoted
from pegaflow.units import AMOUNT_FORM, SIZE_FORM, parse_amount, parse_duration, parse_size


def setting(key: str) -> Any:
    """The option of a setting, with its flag and help; its text is parsed with all settings."""
    entry = SETTINGS[key]
    default = f"default: {entry.default}; " if isinstance(entry.default, str) else ""
    is_switch = entry.kind is SWITCH
    return typer.Option(
        f"{entry.flag}/--no-{entry.flag.removeprefix('--')}" if is_switch else entry.flag,
        help=f"{entry.help} [{default}environment: {entry.variable}]",
        metavar=None if is_switch else entry.kind.metavar,
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
Silence = Annotated[
    str,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        help="How long the daemon may give no sign of life; the work itself may take longer.",
    ),
]
Timeout = Annotated[str, typer.Option("--timeout", metavar="DURATION", help="How long to wait.")]


def timeout_seconds(text: str) -> float:
    """Seconds of the option ``--timeout``."""
    seconds = duration_field("--timeout", text)
    if seconds == 0:
        raise ConfigError(f"--timeout {text!r} cannot be used; allowed: more than 0")
    return seconds


def duration_field(option: str, text: str) -> float:
    """Seconds of an option."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise _not_used(option, text, error) from error


def one_of(option: str, text: str, allowed: Sequence[str]) -> str:
    """The word of an option or argument that takes one of a few."""
    word = text.strip().lower()
    if word not in allowed:
        raise ConfigError(f"{option} {text!r} cannot be used; allowed: {', '.join(allowed)}")
    return word


def size_field(option: str, text: str) -> int:
    """Bytes of an option or argument, more than none."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise _not_used(option, text, error) from error
    if size == 0:
        raise ConfigError(f"{option} {text!r} cannot be used; allowed: {SIZE_FORM}")
    return size


def amount_field(option: str, text: str) -> dict[str, float]:
    """Bytes or a part, of an option or argument, as operations have them."""
    try:
        return parse_amount(text)
    except ValueError as error:
        raise ConfigError(f"{option} {text!r} cannot be used; allowed: {AMOUNT_FORM}") from error


def path_field(option: str, text: str) -> str:
    """The path of an option or argument, which must not depend on where the command is run."""
    try:
        path = Path(local_name(text)).expanduser()
    except ValueError as error:
        raise ConfigError(f"{option} {text!r} cannot be used; allowed: {NAME_FORM}") from error
    if not path.is_absolute():
        raise ConfigError(f"{option} {text!r} cannot be used; allowed: a path from / on")
    return str(path)


def _not_used(option: str, text: str, error: ValueError) -> ConfigError:
    """``error`` says what was expected."""
    allowed = str(error).removeprefix("expected ")
    return ConfigError(f"{option} {quoted(text)} cannot be used; allowed: {allowed}")
