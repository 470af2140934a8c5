"""What waits, and what was turned away."""

from collections.abc import Mapping

from textual.content import Content

from pegaflow.tui.drawing import counted
from pegaflow.tui.panels.panel import Panel, alert_lines, sentence
from pegaflow.tui.view import View
from pegaflow.units import format_size


class QueuesPanel(Panel):
    """Queues of the ssd tier, and back-pressure."""

    NAME = "queues"
    TITLE = "Queues"
    HELP = "What waits for the disks, and what was dropped or turned away in the window, by reason."

    def lines(self, view: View, width: int) -> list[Content]:
        """What waits, then what was turned away."""
        now, window = view.now.queues, view.counted.queues
        lines = [Content(f"no room for {counted(window.no_space, 'page')}, {view.window}")]
        if reason := view.now.absent.get("ssd"):
            return [*lines, *sentence(reason, width), *alert_lines(view, self.NAME)]
        budget = now.write_budget_left_bytes
        lines += [
            Content(
                f"writes: {counted(now.write_blocks, 'block')}, {format_size(now.write_bytes)}"
            ),
            Content(
                f"fetches: {counted(now.fetch_lookups, 'lookup')}, {format_size(now.fetch_bytes)}"
            ),
            Content(f"reads: {format_size(now.read_bytes)}"),
            Content(f"not written: {_reasons(window.unwritten)}"),
            Content(f"not fetched: {_reasons(window.unfetched)}"),
        ]
        if budget is not None:
            lines.append(Content(f"{format_size(budget)} may be written today"))
        return lines + alert_lines(view, self.NAME)


def _reasons(counts: Mapping[str, int]) -> str:
    found = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in counts.items() if count]
    return ", ".join(found) or "none"
