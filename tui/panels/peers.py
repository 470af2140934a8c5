"""Other hosts."""

from pegaflow.tui.line import Line
from pegaflow.tui.panels.panel import Panel, sentence
from pegaflow.tui.view import View


class PeersPanel(Panel):
    """A sentence, as daemons serve one host."""

    NAME = "peers"
    TITLE = "Peers"
    HELP = "Rates, errors and last contacts of other hosts, where there are some."

    def lines(self, view: View, width: int) -> list[Line]:
        """Why there are none."""
        return sentence(view.now.absent["peers"], width)
