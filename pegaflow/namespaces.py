"""The namespaces of a daemon: what each has, over all its cache groups."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Final

from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.models import Status

_LISTED: Final = 5
"""Names that a refusal lists."""


@dataclass(frozen=True)
class NamespaceTotal:
    """One namespace."""

    namespace: str
    """64 hexadecimal digits."""
    model: str | None
    """The model of an engine that is attached and uses it."""
    blocks: int
    bytes: int
    """In memory."""
    ssd_blocks: int
    ssd_bytes: int
    hits: int
    misses: int
    evictions: int
    pinned: bool
    quota_bytes: int | None

    @property
    def hit_rate(self) -> float | None:
        """The share of blocks asked for that were there; None before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None

    def document(self) -> dict[str, Any]:
        """Its part of the ``namespaces`` document."""
        return dataclasses.asdict(self)


def namespaces(status: Status) -> list[NamespaceTotal]:
    """All namespaces, those with most bytes in memory first."""
    models = {engine.namespace: engine.model for engine in status.engines}
    found = [
        _total(name, models.get(name), status)
        for name in {space.namespace for space in status.namespaces}
    ]
    return sorted(found, key=lambda one: (-one.bytes, -one.ssd_bytes, one.namespace))


def parse_prefix(text: str) -> str:
    """The first digits of a namespace, or all; raises ``ConfigError`` for what is none."""
    if re.fullmatch(r"[0-9a-fA-F]{1,64}", text) is None:
        raise ConfigError(
            f"namespace {text!r} cannot be used; allowed: 1 to 64 hexadecimal digits, as "
            "`pegaflow namespace list` has them"
        )
    return text.lower()


def named(status: Status, prefix: str) -> NamespaceTotal:
    """The one namespace that begins with ``prefix``.

    Raises ``ConfigError`` for what no namespace begins with, and when there are several,
    ``PegaflowError`` when there is none.
    """
    prefix = parse_prefix(prefix)
    found = [one for one in namespaces(status) if one.namespace.startswith(prefix)]
    if not found:
        raise PegaflowError(
            f"no namespace begins with {prefix}; `pegaflow namespace list` has those that there are"
        )
    if len(found) > 1:
        names = ", ".join(one.namespace for one in found[:_LISTED])
        raise ConfigError(
            f"{len(found)} namespaces begin with {prefix}; give more digits of one: {names}"
        )
    return found[0]


def _total(name: str, model: str | None, status: Status) -> NamespaceTotal:
    spaces = [space for space in status.namespaces if space.namespace == name]
    return NamespaceTotal(
        namespace=name,
        model=model,
        blocks=sum(space.blocks for space in spaces),
        bytes=sum(space.bytes for space in spaces),
        ssd_blocks=sum(space.ssd_blocks for space in spaces),
        ssd_bytes=sum(space.ssd_bytes for space in spaces),
        hits=sum(space.hits for space in spaces),
        misses=sum(space.misses for space in spaces),
        evictions=sum(space.evictions for space in spaces),
        pinned=any(space.pinned for space in spaces),
        quota_bytes=next(
            (space.quota_bytes for space in spaces if space.quota_bytes is not None), None
        ),
    )
