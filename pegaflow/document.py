"""Reading the daemon's documents: what is no such document is said in words."""

import math
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin

from pegaflow.errors import PegaflowError
from pegaflow.json_text import parse_json
from pegaflow.printable import printable

D = TypeVar("D")

_MAJOR: Final = "1"
"""Of the forms of all documents."""


class OtherForm(ValueError):
    """A document of another major version."""


def parse(model: type[D], text: str) -> D:
    """The ``model`` in a JSON document. Unknown fields are ignored: newer daemons have more.

    What is not printable in its texts is escaped: some of them are what others chose. Raises
    ``PegaflowError`` for what is no such document.
    """
    try:
        return read(model, _object_in(text))
    except (KeyError, TypeError, ValueError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise PegaflowError(
            f"the daemon's {model.__name__.lower()} document cannot be read ({why}); "
            "use the command line of the daemon's version"
        ) from error


def read(model: type[D], raw: Any) -> D:
    """The ``model`` in parsed JSON; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
    kind: Any = model
    return typing.cast(D, _reader(kind)(raw))


def check_form(raw: dict[str, Any]) -> None:
    """Raises ``OtherForm`` for a document whose form has a major number that is not known."""
    schema = raw.get("schema")
    if isinstance(schema, str) and schema.rpartition("/")[2] != _MAJOR:
        raise OtherForm(f"its form is {printable(schema)}, and this one knows {_MAJOR}")


def _object_in(text: str) -> dict[str, Any]:
    try:
        raw = parse_json(text)
    except ValueError as error:
        raise ValueError("it is no JSON") from error
    if not isinstance(raw, dict):
        raise TypeError("it is no JSON object")
    check_form(raw)
    return raw


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """What makes a value of ``kind`` of parsed JSON."""
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind)
    if get_origin(kind) is tuple:
        item = _reader(get_args(kind)[0])
        return lambda raw: tuple(map(item, raw))
    if get_origin(kind) is types.UnionType:
        some = _reader(get_args(kind)[0])
        return lambda raw: None if raw is None else some(raw)

    def scalar(raw: Any) -> Any:
        if kind is float and isinstance(raw, int):
            return float(raw)
        if not isinstance(raw, kind):
            raise TypeError(f"{raw!r} where {kind.__name__} is expected")
        if kind is float and not math.isfinite(raw):
            raise ValueError(f"{raw!r} where a number is expected")
        return printable(raw) if kind is str else raw

    return scalar


def _object(kind: type) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    readers = [
        (field.name, _reader(hints[field.name]), field.default is MISSING) for field in fields(kind)
    ]
    return lambda raw: kind(
        **{
            name: reader(raw[name])
            for name, reader, is_needed in readers
            if is_needed or name in raw
        }
    )
