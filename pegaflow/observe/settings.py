"""The file ``top.toml``: which daemons are looked at, and how the user likes it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pegaflow.config.locations import SYSTEM_FILE, user_file
from pegaflow.errors import ConfigError
from pegaflow.observe.source import checked_url
from pegaflow.observe.thresholds import DEFAULTS, Threshold, with_changes

FILE_NAME: Final = "top.toml"
"""It lies beside the configuration file."""

THEMES: Final = ("textual-dark", "textual-light", "nord", "gruvbox", "solarized-light")
"""Colours of the live view, by Textual's names."""

_ALLOWED: Final = "interval, theme, [hosts], [thresholds] and [keys]"


@dataclass(frozen=True)
class TopSettings:
    """What the file says; what it does not say has defaults."""

    hosts: Mapping[str, str] = field(default_factory=dict)
    """Addresses by the name that people use."""
    thresholds: Mapping[str, Threshold] = field(default_factory=lambda: DEFAULTS)
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by what they do; several have commas between them."""
    theme: str | None = None
    interval: str | None = None


def checked_theme(text: str) -> str:
    """The theme of this name; raises ``ConfigError`` for another."""
    if text not in THEMES:
        raise ConfigError(f"theme {text!r} cannot be used; allowed: {', '.join(THEMES)}")
    return text


def find_settings(explicit: str | None, environ: Mapping[str, str]) -> TopSettings:
    """The settings of ``explicit``, else of the user's file, else of the system's, else none.

    Raises ``ConfigError`` for a mistake in the file.
    """
    if explicit is not None:
        return _read(Path(explicit).expanduser())
    own = user_file(environ)
    for beside in (own, SYSTEM_FILE):
        if beside is not None and (file := beside.with_name(FILE_NAME)).is_file():
            return _read(file)
    return TopSettings()


def _read(file: Path) -> TopSettings:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read {file}: {error.strerror}; give a file that is there and may be read"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}") from error
    for name in content.keys() - {"interval", "theme", "hosts", "thresholds", "keys"}:
        raise ConfigError(f"{name} in {file} is not a setting; allowed: {_ALLOWED}")
    thresholds = _texts(content, "thresholds", file)
    try:
        return TopSettings(
            hosts={name: checked_url(url) for name, url in _texts(content, "hosts", file).items()},
            thresholds=with_changes(f"{name}={limits}" for name, limits in thresholds.items()),
            keys=_texts(content, "keys", file),
            theme=_text(content, "theme", file),
            interval=_text(content, "interval", file),
        )
    except ConfigError as error:
        raise ConfigError(f"{error} (from {file})") from error


def _texts(content: Mapping[str, Any], name: str, file: Path) -> dict[str, str]:
    table = content.get(name, {})
    if isinstance(table, dict) and all(isinstance(text, str) for text in table.values()):
        return table
    raise ConfigError(f'{name} in {file} cannot be used; allowed: a table of NAME = "TEXT"')


def _text(content: Mapping[str, Any], name: str, file: Path) -> str | None:
    text = content.get(name)
    if text is None or isinstance(text, str):
        return text
    raise ConfigError(f"{name} = {text!r} in {file} cannot be used; allowed: a text in quotes")
