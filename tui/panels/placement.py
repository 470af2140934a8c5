"""Where the pool lies."""

from pegaflow.observe.snapshot import Node
from pegaflow.tui.drawing import bar, counted
from pegaflow.tui.line import Line, styled
from pegaflow.tui.panels.panel import Panel, sentence
from pegaflow.tui.view import View
from pegaflow.units import format_size


class PlacementPanel(Panel):
    """What holds the pool, how much of it is ready and pinned, and its bytes by NUMA node."""

    NAME = "placement"
    TITLE = "Pool placement"
    HELP = (
        "What holds the pool, how much can hold pages and is pinned for copies of GPUs, and its "
        "bytes on each NUMA node. Copies across nodes are not counted."
    )

    def lines(self, view: View, width: int) -> list[Line]:
        """Kind, readiness, pins, nodes."""
        daemon, nodes = view.now.daemon, view.now.nodes
        pinned = f"{format_size(daemon.pinned_bytes)} pinned for {counted(daemon.gpus, 'GPU')}"
        return [
            styled(f"{daemon.pool_kind}: {daemon.pool_path or 'anonymous memory'}"),
            styled(f"{daemon.ready_percent:.0f}% ready, {pinned}"),
            *(_node(node, sum(one.bytes for one in nodes), view, width) for node in nodes),
            *(sentence(why, width) if (why := view.now.absent.get("numa")) else ()),
        ]


def _node(node: Node, pool_bytes: int, view: View, width: int) -> Line:
    share = node.bytes / pool_bytes if pool_bytes else 0.0
    drawn = bar(share, max(width - 24, 4), view.preferences.glyphs)
    size = format_size(node.bytes)
    return styled(f"node {node.node:<3}", "bold") + drawn + styled(f"{share:>5.0%}{size:>10}")
