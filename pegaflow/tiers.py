"""The tiers of a daemon, part by part: the memory tier, and each path of the ssd tier."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final

from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.file_names import daemon_name
from pegaflow.models import SsdPath, Status

TIERS: Final = ("memory", "ssd")
"""The tiers that operations change."""


@dataclass(frozen=True)
class TierPart:
    """The memory tier, or one path of the ssd tier."""

    tier: str
    path: str | None
    """The pool's file, or the path; None for anonymous memory."""
    state: str
    reason: str | None
    """Why the state is not what it should be."""
    capacity_bytes: int
    used_bytes: int
    """Bytes that its pages take; of an ssd path that its files take, which stay when blocks go."""
    blocks: int
    cached_bytes: int
    """Bytes of the blocks."""

    @property
    def name(self) -> str:
        """What people call it, and type to confirm a change of it."""
        return self.path if self.tier == "ssd" and self.path else self.tier

    def document(self) -> dict[str, Any]:
        """Its part of the ``tiers`` document."""
        return dataclasses.asdict(self)


def parts(status: Status) -> list[TierPart]:
    """All parts of all tiers."""
    return [_memory(status), *(_ssd(path) for path in (status.ssd.paths if status.ssd else ()))]


def parts_of(
    status: Status, tier: str, path: str | None, *, single: bool = False
) -> list[TierPart]:
    """The parts of ``tier`` that a command is about: the one at ``path``, or all.

    Raises ``ConfigError`` when there is none such, or several where only a ``single`` one can be
    meant, and ``PegaflowError`` when there is no such tier, or no path of it.
    """
    if tier == "memory" and path is not None:
        raise ConfigError(f"path {path} is given, and the memory tier has no paths; leave it out")
    found = [part for part in parts(status) if part.tier == tier]
    if not found:
        raise PegaflowError(
            "the daemon has no ssd tier; `pegaflow tier add-path PATH=SIZE` begins one"
            if status.ssd is None
            else "the ssd tier has no path now; `pegaflow tier add-path PATH=SIZE` gives it one"
        )
    names = ", ".join(part.name for part in found)
    if path is not None:
        found = [part for part in found if part.path == daemon_name(path)]
        if not found:
            raise ConfigError(f"path {path} is none of the ssd tier's; allowed: {names}")
    if single and len(found) > 1:
        raise ConfigError(f"the ssd tier has {len(found)} paths; name one with --path: {names}")
    return found


def _memory(status: Status) -> TierPart:
    pool = status.pool
    return TierPart(
        tier="memory",
        path=pool.path,
        state="ready" if pool.ready_bytes == pool.bytes else "starting",
        reason=pool.fallback,
        capacity_bytes=pool.bytes,
        used_bytes=pool.used_bytes,
        blocks=sum(space.blocks for space in status.namespaces),
        cached_bytes=sum(space.bytes for space in status.namespaces),
    )


def _ssd(path: SsdPath) -> TierPart:
    return TierPart(
        tier="ssd",
        path=path.path,
        state=path.state,
        reason=path.reason,
        capacity_bytes=path.capacity_bytes,
        used_bytes=path.used_bytes,
        blocks=path.blocks,
        cached_bytes=path.bytes,
    )
