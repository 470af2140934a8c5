"""Which prefixes are hot."""

from textual.content import Content

from pegaflow.observe.rows import percent
from pegaflow.tui.panels.panel import Panel
from pegaflow.tui.view import View

_SHOWN = 6


class PrefixesPanel(Panel):
    """The prefixes that prompts begin with most often."""

    NAME = "prefixes"
    TITLE = "Hot prefixes"
    HELP = (
        "Prefixes of 1, 4, 16 ... blocks that lookups ask for most, how many do, how many find all "
        "of it, and the hash of its last block."
    )

    def lines(self, view: View, width: int) -> list[Content]:
        """A line each, the hottest first."""
        shown = max(self.content_size.height - 1, 1) if self.is_maximised else _SHOWN
        prefixes = view.now.prefixes[:shown]
        if not prefixes:
            return [Content.styled("nothing was asked for yet", "$text-muted italic")]
        heading = f"{'blocks':>6} {'lookups':>9} {'found':>5} {'namespace':12} hash"
        lines = [Content.styled(heading, "$text-muted bold")]
        lines += [
            Content(
                f"{prefix.blocks:>6,} {prefix.lookups:>9,} {percent(prefix.found_share):>5} "
                f"{prefix.namespace[:12]:12} {prefix.block_hash}"
            )
            for prefix in prefixes
        ]
        return lines
