"""Which daemons the command looks at."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pegaflow.cli.context import AppContext
from pegaflow.config import resolve_socket

if TYPE_CHECKING:
    from pegaflow.observe.source import HttpSource, Source


def named_urls(urls: Sequence[str], hosts: Mapping[str, str]) -> dict[str, str]:
    """The addresses of daemons by name: ``urls`` if there are some, else those of ``hosts``."""
    from pegaflow.observe.source import checked_url

    given = {urlsplit(url).netloc: url for url in map(checked_url, urls)}
    return given or dict(hosts)


def remote_sources(urls: Mapping[str, str], timeout_s: float) -> "list[HttpSource]":
    """The daemons at addresses, by name."""
    from pegaflow.observe.source import HttpSource

    return [HttpSource(name, _always(url), timeout_s) for name, url in urls.items()]


def local_source(
    context: AppContext, socket: str | None, config: str | None, timeout_s: float
) -> "Source":
    """The daemon at the socket, which tells its HTTP address."""
    from pegaflow.observe.source import HttpSource

    address = resolve_socket(socket, config=config, environ=context.environ)

    def find() -> str:
        return f"http://{context.connect(address, timeout_s).status().http_addr}"

    return HttpSource("local", find, timeout_s)


def demo_sources() -> "list[Source]":
    """Two daemons that are made up; one restarts after a while, the other loses a disk."""
    from pegaflow.observe.scripted import ScriptedSource

    now = time.time()
    return [
        ScriptedSource("gpu-1", time.time, now, engines=5, namespaces=6, restart_after_s=90),
        ScriptedSource("gpu-2", time.time, now, engines=2, namespaces=3, offline_after_s=60),
    ]


def _always(url: str) -> Callable[[], str]:
    return lambda: url
