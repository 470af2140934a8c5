"""Settings from defaults, file, environment and flags, each with its origin."""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pegaflow.config.locations import find_file
from pegaflow.config.settings import SETTINGS, Config, Setting
from pegaflow.errors import ConfigError

Source = Literal["default", "file", "environment", "flag"]

_OTHER_VARIABLES: Final = frozenset({"PEGAFLOW_CONFIG"})


@dataclass(frozen=True)
class Value:
    """One setting's value: ``text`` as it was written, where, and what it means."""

    setting: Setting
    text: str
    value: Any
    source: Source
    where: str
    """The file, variable or flag; empty for a default."""

    @property
    def canonical(self) -> str:
        """Text with the same meaning in any directory."""
        return self.text if self.value is None else str(self.value)

    @property
    def argument(self) -> str:
        """The one word of a command line that sets it."""
        flag = self.setting.flag
        if isinstance(self.value, bool):
            return flag if self.value else f"--no-{flag.removeprefix('--')}"
        return f"{flag}={self.canonical}"


@dataclass(frozen=True)
class Loaded:
    """What was found, by key, and the file that was read, if any."""

    values: Mapping[str, Value]
    file: Path | None

    @property
    def config(self) -> Config:
        """The values alone."""
        return Config(**{key: value.value for key, value in self.values.items()})


def load(
    flags: Mapping[str, object] | None = None,
    *,
    config: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Loaded:
    """All settings: defaults < file < environment < ``flags`` (by key; None is not given).

    ``config`` names the file, as ``--config`` does. Raises ``ConfigError`` for the first mistake.
    """
    file = find_file(config, environ)
    content = _read_file(file) if file else {}
    for sentence in _unknown_keys(content, file):
        raise ConfigError(sentence)
    given = flags or {}
    values = {
        key: _first_given(setting, given.get(key), environ, content.get(key), file)
        for key, setting in SETTINGS.items()
    }
    return Loaded(values, file)


def resolve_socket(
    explicit: str | None = None,
    *,
    config: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> str:
    """The daemon's socket for a command or an engine: ``explicit`` or the rule that all share.

    Mistakes in other settings do not matter here.
    """
    file = None if explicit or environ.get("PEGAFLOW_SOCKET") else find_file(config, environ)
    in_file = _read_file(file).get("socket") if file else None
    value = _first_given(SETTINGS["socket"], explicit or None, environ, in_file, file)
    return str(value.value)


def find_problems(
    *, config: str | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[Path | None, list[str]]:
    """The file in force, and a sentence for every mistake in it and in the environment."""
    try:
        file = find_file(config, environ)
        content = _read_file(file) if file else {}
    except ConfigError as error:
        return None, [str(error)]
    problems = list(_unknown_keys(content, file))
    for key, setting in SETTINGS.items():
        try:
            _first_given(setting, None, environ, content.get(key), file)
        except ConfigError as error:
            problems.append(str(error))
    return file, [*problems, *suspicious_variables(environ)]


def suspicious_variables(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """A sentence for each variable that looks like a misspelt setting.

    Other names are left alone: a container platform sets some of its own.
    """
    known = _OTHER_VARIABLES | {setting.variable for setting in SETTINGS.values()}
    for name in sorted(environ):
        near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.85)
        if name.startswith("PEGAFLOW_") and name not in known and near:
            yield f"{name} is not a setting and has no effect; did you mean {near[0]}?"


def _first_given(
    setting: Setting,
    flag: object,
    environ: Mapping[str, str],
    in_file: object,
    file_name: Path | None,
) -> Value:
    if flag is not None:
        return _parsed(setting, flag, "flag", setting.flag)
    if variable := environ.get(setting.variable):
        return _parsed(setting, variable, "environment", setting.variable)
    if in_file is not None:
        return _parsed(setting, in_file, "file", str(file_name))
    return _parsed(setting, setting.default_text(environ), "default", "")


def _parsed(setting: Setting, raw: object, source: Source, where: str) -> Value:
    text = _text(raw)
    if text is not None:
        try:
            return Value(setting, text, setting.kind.parse(text), source, where)
        except ValueError:
            pass
    origin = f" (from {where})" if where else ""
    raise ConfigError(
        f"{setting.key} = {raw!r}{origin} cannot be used; allowed: {setting.kind.allowed}"
    )


def _text(raw: object) -> str | None:
    """A value of the file, a variable or a flag as text; None for what is no value."""
    if isinstance(raw, bool):
        return "on" if raw else "off"
    if isinstance(raw, str | int | float):
        return str(raw)
    if isinstance(raw, list) and raw and all(isinstance(part, str) for part in raw):
        return ",".join(raw)
    return None


def _read_file(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read {file}: {error.strerror}; give a file that is there and may be read"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}") from error


def _unknown_keys(content: Mapping[str, object], file: Path | None) -> Iterator[str]:
    for key in content:
        if key not in SETTINGS:
            near = difflib.get_close_matches(key, SETTINGS, n=1)
            hint = f"did you mean {near[0]}?" if near else "allowed: " + ", ".join(SETTINGS)
            yield f"{key} in {file} is not a setting; {hint}"
