"""How full the tiers are."""

from typing import Final

from textual.content import Content

from pegaflow.observe.snapshot import Tier
from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import bar, fit, signed
from pegaflow.tui.glyphs import STYLES
from pegaflow.tui.panels.panel import Panel, sentence
from pegaflow.tui.view import View
from pegaflow.units import format_size

_LEVELS: Final[dict[str, Level]] = {"offline": "critical", "degraded": "warning"}


class TiersPanel(Panel):
    """A bar for the memory tier, and for each path of the ssd tier."""

    NAME = "tiers"
    TITLE = "Tiers"
    HELP = "Used and all bytes of memory and of each ssd path; what leases hold; what moves."

    def lines(self, view: View, width: int) -> list[Content]:
        """Two lines for each part."""
        lines = []
        for tier in view.now.tiers:
            level = _LEVELS.get(tier.state, "ok")
            if view.preferences.faults_only and level == "ok":
                continue
            lines += self._tier(tier, level, view, width)
        if reason := view.now.absent.get("ssd"):
            lines += sentence(reason, width)
        return [*lines, Content.styled(view.now.absent["remote"], "$text-muted italic")]

    def _tier(self, tier: Tier, level: Level, view: View, width: int) -> list[Content]:
        sizes = f"{format_size(tier.used_bytes)} of {format_size(tier.capacity_bytes)}"
        cells = max(width - len(sizes) - 6, 4)
        drawn = bar(tier.used_share, cells, view.preferences.glyphs)
        name = Content.styled(fit(tier.name, max(width - 11, 8)), "bold")
        head = Content.assemble(name, " ", signed(level, tier.state))
        body = Content.assemble(drawn, f"{tier.used_share:>5.0%} ", (sizes, STYLES[level]))
        dot = view.preferences.glyphs.dot
        if tier.reason:
            return [head, body, signed(level, tier.reason)]
        if tier.tier == "memory":
            leased = f"leased {format_size(tier.leased_bytes)}"
            moving = f"to and from ssd {format_size(tier.in_flight_bytes)}"
            return [head, body, Content.styled(f"{leased} {dot} {moving}", "$text-muted")]
        return [head, body]
