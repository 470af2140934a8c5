"""What cannot be evicted now, and whether something leaked."""

from pegaflow.tui.drawing import counted, duration, signed
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import Panel, alert_lines
from pegaflow.tui.view import View
from pegaflow.units import format_size


class LeasesPanel(Panel):
    """Leases, pins and pages under way."""

    NAME = "leases"
    TITLE = "Leases and pins"
    HELP = "Leases that engines hold, their oldest one, and how leases ended in the window."

    def lines(self, view: View, width: int) -> list[Line]:
        """Counts, the oldest lease, and ends."""
        leases = view.now.leases
        held = (
            f"{leases.held:,} held: {counted(leases.blocks, 'block')}, {format_size(leases.bytes)}"
        )
        oldest = f"oldest {duration(leases.oldest_s)}"
        suspect = signed("warning", f"{oldest}: a leak?") if leases.suspect else styled(oldest)
        window = view.counted.leases
        ends = ", ".join(
            f"{count:,} {reason.replace('_', ' ')}"
            for reason, count in window.ended.items()
            if count
        )
        return [
            styled(held),
            suspect,
            styled(f"{counted(leases.pinned_blocks, 'block')} pinned"),
            styled(f"{counted(leases.in_flight_pages, 'page')} being filled"),
            styled(f"{counted(leases.partial_blocks, 'block')} without all shards"),
            styled(f"{window.granted:,} granted, {view.window}"),
            styled(f"ended: {ends or 'none'}"),
            *alert_lines(view, self.NAME),
        ]
