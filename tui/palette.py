"""The commands of the palette: what keys do, and the way to each daemon."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from textual.app import SystemCommand
from textual.binding import Binding

from pegaflow.tui.host import Host


def commands(
    bindings: Iterable[Binding],
    hosts: Sequence[Host],
    run: Callable[[str], None],
    open_tab: Callable[[int], None],
) -> Iterable[SystemCommand]:
    """A command for each key, which ``run`` does, and for each daemon."""
    for binding in bindings:
        if binding.action != "command_palette":
            key = f"key {binding.key_display or binding.key}"
            yield SystemCommand(binding.description, key, partial(run, binding.action))
    for tab, host in enumerate(hosts, start=1):
        yield SystemCommand(f"go to {host.name}", "show this daemon", partial(open_tab, tab))
