"""Where the pool lies."""

from textual.content import Content

from pegaflow.tui.drawing import counted
from pegaflow.tui.panels.panel import Panel, sentence
from pegaflow.tui.view import View
from pegaflow.units import format_size


class PlacementPanel(Panel):
    """What holds the pool, and how much of it is ready and pinned."""

    NAME = "placement"
    TITLE = "Pool placement"
    HELP = "What holds the pool, how much can hold pages and is pinned for copies of GPUs."

    def lines(self, view: View, width: int) -> list[Content]:
        """Kind, readiness, pins."""
        daemon = view.now.daemon
        return [
            Content(f"{daemon.pool_kind}: {daemon.pool_path or 'anonymous memory'}"),
            Content(f"{daemon.ready_percent:.0f}% ready"),
            Content(f"{format_size(daemon.pinned_bytes)} pinned for {counted(daemon.gpus, 'GPU')}"),
            *sentence(view.now.absent["numa"], width),
        ]
