"""``pegaflow top``: one module per concern of the command."""

from pegaflow.cli.top.command import top
from pegaflow.cli.top.examples import HELP

__all__ = ["HELP", "top"]
