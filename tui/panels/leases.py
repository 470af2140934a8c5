"""What cannot be evicted now, and whether something leaked."""

from textual.content import Content

from pegaflow.tui.drawing import duration, signed
from pegaflow.tui.panels.panel import Panel, alert_lines
from pegaflow.tui.view import View
from pegaflow.units import format_size


class LeasesPanel(Panel):
    """Leases, pins and pages under way."""

    NAME = "leases"
    TITLE = "Leases and pins"
    HELP = "Leases that engines hold, their oldest one, and how leases ended in the window."

    def lines(self, view: View, width: int) -> list[Content]:
        """Counts, the oldest lease, and ends."""
        leases = view.now.leases
        held = f"{leases.held:,} held: {leases.blocks:,} blocks, {format_size(leases.bytes)}"
        oldest = f"oldest {duration(leases.oldest_s)}"
        suspect = signed("warning", f"{oldest}: a leak?") if leases.suspect else Content(oldest)
        counted = view.counted.leases
        ends = ", ".join(
            f"{count:,} {reason.replace('_', ' ')}" for reason, count in counted.ended.items()
        )
        return [
            Content(held),
            suspect,
            Content(f"{leases.pinned_blocks:,} blocks pinned"),
            Content(
                f"{leases.in_flight_pages:,} pages being filled, "
                f"{leases.partial_blocks:,} blocks lack shards"
            ),
            Content(f"{counted.granted:,} granted, {view.window}"),
            *([Content(f"ended: {ends}")] if ends else []),
            *alert_lines(view, self.NAME),
        ]
