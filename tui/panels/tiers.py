"""How full the tiers are."""

from collections.abc import Iterator
from typing import Final

from pegaflow.observe.snapshot import Snapshot, Tier
from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import bar, counted, fit, packed, progress, signed, tail
from pegaflow.tui.glyphs import STYLES
from pegaflow.tui.line import Line, cells, folded, styled
from pegaflow.tui.panels.panel import Panel, alert_lines, sentence
from pegaflow.tui.view import View
from pegaflow.units import format_size

_LEVELS: Final[dict[str, Level]] = {"offline": "critical", "degraded": "warning"}
_NAME: Final = 12
"""Cells of a name where a part has one line."""


class TiersPanel(Panel):
    """A bar for the memory tier, and for each path of the ssd tier."""

    NAME = "tiers"
    TITLE = "Tiers"
    HELP = (
        "Used and all bytes of memory and of each ssd path. What leases hold, pages reserved for "
        "saves, the largest free piece, bytes on their way to and from ssd, those that wait for it."
    )

    def lines(self, view: View, width: int) -> list[Line]:
        """Each part with its bar, then what moves and what operators let be done."""
        lines = []
        for tier in view.now.tiers:
            level = _LEVELS.get(tier.state, "ok")
            if view.preferences.faults_only and level == "ok":
                continue
            part = self._line if self.is_compact else self._tier
            lines += part(tier, level, view, width)
        lines += [signed("warning", text) for text in _running(view.now)]
        if reason := view.now.absent.get("ssd"):
            lines += sentence(reason, width)
        lines.append(styled(view.now.absent["remote"], "$text-muted italic"))
        return lines + alert_lines(view, self.NAME, but=[tier.name for tier in view.now.tiers])

    def _line(self, tier: Tier, level: Level, view: View, width: int) -> list[Line]:
        name = styled(tail(tier.name, _NAME) + " ", "bold")
        if level != "ok":
            return [name + signed(level, tier.state)]
        drawn = bar(tier.used_share, max(width - _NAME - 16, 4), view.preferences.glyphs)
        numbers = f"{tier.used_share:>5.0%}{format_size(tier.used_bytes):>10}"
        return [name + drawn + styled(numbers)]

    def _tier(self, tier: Tier, level: Level, view: View, width: int) -> list[Line]:
        sizes = f"{format_size(tier.used_bytes)} of {format_size(tier.capacity_bytes)}"
        drawn = bar(tier.used_share, max(width - len(sizes) - 6, 4), view.preferences.glyphs)
        state = signed(level, tier.state)
        name = styled(fit(tier.name, max(width - cells(state) - 1, 8)), "bold")
        head = name + styled(" ") + state
        body = drawn + styled(f"{tier.used_share:>5.0%} ") + styled(sizes, STYLES[level])
        lines = [head, body]
        if tier.reason:
            lines += folded(*signed(level, tier.reason)[0], width)
        if tier.tier == "memory":
            dot = f" {view.preferences.glyphs.dot} "
            texts = packed(_moving(view.now, tier), width, dot)
            lines += [styled(text, "$text-muted") for text in texts]
        return lines


def _moving(now: Snapshot, pool: Tier) -> Iterator[str]:
    """What of the pool cannot be used now, and what waits for the disks."""
    yield f"leased {format_size(pool.leased_bytes)}"
    yield f"{counted(now.leases.in_flight_pages, 'page')} reserved"
    if pool.largest_free_bytes is not None:
        yield f"largest free {format_size(pool.largest_free_bytes)}"
    if "ssd" not in now.absent:
        yield f"moving {format_size(pool.in_flight_bytes)}"
        yield f"to write {format_size(now.queues.write_bytes)}"


def _running(now: Snapshot) -> Iterator[str]:
    """Operations under way."""
    for one in now.operations:
        yield f"{one.operation} {progress(one.share)} for {one.elapsed_s:.0f} s"
