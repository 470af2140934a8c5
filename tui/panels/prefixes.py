"""Which prefixes are hot."""

from textual.content import Content

from pegaflow.tui.panels.panel import Panel, sentence
from pegaflow.tui.view import View


class PrefixesPanel(Panel):
    """A sentence, as daemons have no scan of their blocks."""

    NAME = "prefixes"
    TITLE = "Hot prefixes"
    HELP = "Prefixes that are used most, where a daemon can tell."

    def lines(self, view: View, width: int) -> list[Content]:
        """Why there are none."""
        return sentence(view.now.absent["prefixes"], width)
