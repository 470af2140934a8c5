"""The characters that bars, graphs and marks are drawn with."""

from dataclasses import dataclass
from typing import Final

from pegaflow.observe.thresholds import Level


@dataclass(frozen=True)
class Glyphs:
    """One set of characters."""

    full: str
    empty: str
    levels: str
    """From nothing to all."""
    parts: str
    """Parts of a bar, one after the other."""
    mark: str
    """Where a daemon restarted."""
    corners: str
    """Of a frame: above left and right, below left and right."""
    across: str
    side: str
    dot: str
    up: str
    down: str


UNICODE: Final = Glyphs(
    full="█",
    empty="░",
    levels=" ▁▂▃▄▅▆▇█",
    parts="█▓▒░",
    mark="┊",
    corners="╭╮╰╯",
    across="─",
    side="│",
    dot="·",
    up="▲",
    down="▼",
)
ASCII: Final = Glyphs(
    full="#",
    empty=".",
    levels=" .:-=+*#@",
    parts="#+-.",
    mark="|",
    corners="++++",
    across="-",
    side="|",
    dot="-",
    up="^",
    down="v",
)

STYLES: Final[dict[Level, str]] = {
    "ok": "$text",
    "warning": "bold $warning",
    "critical": "bold $error",
}
"""The colour of a level."""

SIGNS: Final[dict[Level, str]] = {"ok": "", "warning": "!", "critical": "!!"}
"""The sign of a level, for those who see no colours."""
