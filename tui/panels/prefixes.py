"""Which prefixes are hot."""

from collections.abc import Sequence

from pegaflow.observe.rows import percent
from pegaflow.observe.snapshot import Prefix
from pegaflow.tui.panels.table import Column, TablePanel
from pegaflow.tui.view import View


class PrefixesPanel(TablePanel[Prefix]):
    """The prefixes that prompts begin with most often, the hottest first."""

    NAME = "prefixes"
    TITLE = "Hot prefixes"
    HELP = (
        "Prefixes of 1, 4, 16 ... blocks that lookups ask for most, how many do, how many find all "
        "of it, and the hash of its last block."
    )
    NOTHING = "nothing was asked for yet"
    columns = (
        Column[Prefix]("blocks", 6, lambda one: f"{one.blocks:,}", lambda one: one.blocks),
        Column[Prefix]("lookups", 9, lambda one: f"{one.lookups:,}", lambda one: one.lookups),
        Column[Prefix](
            "found", 5, lambda one: percent(one.found_share), lambda one: one.found_share
        ),
        Column[Prefix](
            "namespace", 12, lambda one: one.namespace[:12], lambda one: one.namespace, right=False
        ),
        Column[Prefix](
            "hash", 12, lambda one: one.block_hash, lambda one: one.block_hash, right=False
        ),
    )

    def rows(self, view: View) -> Sequence[Prefix]:
        """All that the daemon keeps."""
        return view.now.prefixes

    def facts(self, row: Prefix) -> tuple[str, dict[str, str]]:
        """All of one prefix."""
        return "Prefix", {
            "hash of its last block": row.block_hash,
            "length": f"{row.blocks:,} blocks",
            "namespace": row.namespace,
            "lookups since the start": f"{row.lookups:,} or more",
            "found whole": percent(row.found_share),
        }
