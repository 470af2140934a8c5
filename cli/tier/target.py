"""Which tier, and which part of it, a command is about."""

from typing import Annotated

import typer

from pegaflow.cli.options import one_of, path_field
from pegaflow.tiers import TIERS, TierPart

Tier = Annotated[str, typer.Argument(metavar="TIER", help="memory or ssd.")]
Path = Annotated[
    str | None,
    typer.Option(
        "--path", metavar="PATH", help="Only this path of the ssd tier.", show_default=False
    ),
]


def target(tier: str, path: str | None) -> tuple[str, str | None]:
    """The argument ``TIER`` and the option ``--path``, checked."""
    return one_of("TIER", tier, TIERS), path_field("--path", path) if path is not None else None


def name_of(tier: str, parts: list[TierPart]) -> str:
    """What people call these parts, and type to confirm a change of them."""
    return parts[0].name if len(parts) == 1 else tier


def held_bytes(parts: list[TierPart]) -> int:
    """Bytes that go when all is evicted; the files of an ssd path stay."""
    return sum(part.cached_bytes if part.tier == "ssd" else part.used_bytes for part in parts)
