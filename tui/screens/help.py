"""The help screen, made of the keys and the panels themselves."""

from collections.abc import Mapping, Sequence

from textual.binding import Binding
from textual.content import Content

from pegaflow.tui.panels import PANELS
from pegaflow.tui.screens.page import Page


def help_page(keys: Sequence[Binding], keymap: Mapping[str, str], focused: str | None) -> Page:
    """What each key does and each panel shows; the ``focused`` panel comes first."""
    names = [keymap.get(key.id or "", key.key_display or key.key) for key in keys]
    width = max(map(len, names)) + 2
    lines = []
    panels = sorted(PANELS.items(), key=lambda entry: focused != entry[1].NAME)
    if focused is not None:
        panel = panels[0][1]
        lines += [Content.styled(f"{panel.TITLE}: {panel.HELP}", "bold $accent"), Content("")]
    lines += [
        Content.assemble(
            (name.ljust(width), "bold"),
            key.description,
        )
        for name, key in zip(names, keys, strict=True)
    ]
    lines += [
        Content.assemble(
            ("enter".ljust(width), "bold"), "all of a row, or a panel on the whole screen"
        ),
        Content(""),
        Content.styled("These keys show and hide panels:", "bold"),
    ]
    lines += [
        Content.assemble(
            (keymap.get(panel.NAME, key.upper()).ljust(width), "bold"),
            f"{panel.TITLE}: {panel.HELP}",
        )
        for key, panel in PANELS.items()
    ]
    return Page("Help", Content("\n").join(lines))
