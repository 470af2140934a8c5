"""The daemon that a command talks to."""

from typing import TYPE_CHECKING

from pegaflow.cli.context import AppContext
from pegaflow.cli.options import timeout_seconds
from pegaflow.config import resolve_socket

if TYPE_CHECKING:
    from pegaflow.client import Client


def daemon(context: AppContext, socket: str | None, config: str | None, timeout: str) -> "Client":
    """A client of the daemon that ``--socket``, ``--config`` and ``--timeout`` give."""
    address = resolve_socket(socket, config=config, environ=context.environ)
    return context.connect(address, timeout_seconds(timeout))
