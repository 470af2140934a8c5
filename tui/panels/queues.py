"""What waits, and what was turned away."""

from collections.abc import Mapping

from pegaflow.tui.drawing import counted
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import Panel, alert_lines, sentence
from pegaflow.tui.view import View
from pegaflow.units import format_size


class QueuesPanel(Panel):
    """Queues of the ssd tier, and back-pressure."""

    NAME = "queues"
    TITLE = "Queues"
    HELP = "What waits for the disks, and what was dropped or turned away in the window, by reason."

    def lines(self, view: View, width: int) -> list[Line]:
        """What waits, then what was turned away."""
        now, window = view.now.queues, view.counted.queues
        lines = [styled(f"no room for {counted(window.no_space, 'page')}, {view.window}")]
        if reason := view.now.absent.get("ssd"):
            return [*lines, *sentence(reason, width), *alert_lines(view, self.NAME)]
        budget = now.write_budget_left_bytes
        lines += [
            styled(f"writes: {counted(now.write_blocks, 'block')}, {format_size(now.write_bytes)}"),
            styled(
                f"fetches: {counted(now.fetch_lookups, 'lookup')}, {format_size(now.fetch_bytes)}"
            ),
            styled(f"reads: {format_size(now.read_bytes)}"),
            styled(f"not written: {_reasons(window.unwritten)}"),
            styled(f"not fetched: {_reasons(window.unfetched)}"),
        ]
        if budget is not None:
            lines.append(styled(f"{format_size(budget)} may be written today"))
        return lines + alert_lines(view, self.NAME)


def _reasons(counts: Mapping[str, int]) -> str:
    found = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in counts.items() if count]
    return ", ".join(found) or "none"
