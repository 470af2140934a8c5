"""The panels, a module each, in their order on the screen."""

from typing import Final

from pegaflow.tui.panels.engines import EnginesPanel
from pegaflow.tui.panels.evictions import EvictionsPanel
from pegaflow.tui.panels.hits import HitsPanel
from pegaflow.tui.panels.latency import LatencyPanel
from pegaflow.tui.panels.leases import LeasesPanel
from pegaflow.tui.panels.log import LogPanel
from pegaflow.tui.panels.namespaces import NamespacesPanel
from pegaflow.tui.panels.panel import Panel
from pegaflow.tui.panels.peers import PeersPanel
from pegaflow.tui.panels.placement import PlacementPanel
from pegaflow.tui.panels.prefixes import PrefixesPanel
from pegaflow.tui.panels.queues import QueuesPanel
from pegaflow.tui.panels.table import TablePanel
from pegaflow.tui.panels.throughput import ThroughputPanel
from pegaflow.tui.panels.tiers import TiersPanel

PANELS: Final[dict[str, type[Panel]]] = {
    "1": TiersPanel,
    "2": HitsPanel,
    "3": ThroughputPanel,
    "4": LatencyPanel,
    "5": EnginesPanel,
    "6": NamespacesPanel,
    "7": EvictionsPanel,
    "8": LeasesPanel,
    "9": QueuesPanel,
    "f1": PlacementPanel,
    "0": LogPanel,
    "f2": PrefixesPanel,
    "f3": PeersPanel,
}
"""The panels by the key that shows and hides them."""

__all__ = ["PANELS", "Panel", "TablePanel"]
