"""A model's config.json, whose fields have other names in other architectures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pegaflow.errors import ConfigError
from pegaflow.json_text import parse_json
from pegaflow.printable import quoted

GIVE: Final = "give --layers, --kv-heads and --head-dim, or --bytes-per-token"
_MOST: Final = 1 << 20
_NUMBER: Final = f"a whole number from 1 to {_MOST:,}"


class ModelConfig:
    """The text model's part of a config.json, and where it is from."""

    def __init__(self, fields: Mapping[str, Any], where: str) -> None:
        self._fields = fields
        self.where = where

    @property
    def model_type(self) -> str:
        """The architecture's name, empty when there is none."""
        return str(self._fields.get("model_type") or "")

    def get(self, *names: str) -> Any:
        """The first of these fields that has a value; None when none has."""
        values = (self._fields.get(name) for name in names)
        return next((value for value in values if value is not None), None)

    def number(self, *names: str) -> int:
        """The first of these fields that has a value, a whole number from 1 on."""
        value = self.get(*names)
        if value is None:
            raise ConfigError(f"{self.where} has no {names[0]}, which is {_NUMBER}; {GIVE}")
        if type(value) is not int or not 1 <= value <= _MOST:
            raise self._other(value, names, _NUMBER)
        return value

    def number_or_none(self, *names: str) -> int | None:
        """The same; None when none of the fields has a value other than 0."""
        return self.number(*names) if self.get(*names) else None

    def words(self, *names: str) -> list[str]:
        """The first of these fields that has a value, a list of words; empty when none has."""
        value = self.get(*names)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self._other(value, names, "a list of words")
        return value

    def numbers(self, *names: str) -> list[int]:
        """The first of these fields that has a value, a list of numbers; empty when none has."""
        value = self.get(*names)
        if value is None:
            return []
        if not isinstance(value, list) or not all(type(number) is int for number in value):
            raise self._other(value, names, "a list of numbers")
        return value

    def _other(self, value: object, names: Sequence[str], what: str) -> ConfigError:
        """What is wrong with the first of these fields that has a value."""
        named = next(name for name in names if self._fields.get(name) is not None)
        return ConfigError(f"{self.where} has {quoted(value)} as {named}, which is {what}; {GIVE}")


def read_config(path: Path) -> ModelConfig:
    """The config.json at ``path``, or in that folder."""
    path = path / "config.json" if path.is_dir() else path
    try:
        config = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"the model's configuration {path} cannot be read ({error.strerror}): --model is a "
            f"config.json of this machine, or a folder with one; {GIVE}"
        ) from error
    except ValueError as error:
        raise ConfigError(f"{path} is no JSON ({error}); {GIVE}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{path} is no JSON object; {GIVE}")
    for name in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(name), dict):
            return ModelConfig({**config, **config[name]}, str(path))
    return ModelConfig(config, str(path))
