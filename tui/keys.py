"""The keys, each with the words that the help screen and the palette show."""

from collections.abc import Iterable, Mapping
from typing import Final

from textual.binding import Binding

from pegaflow.errors import ConfigError
from pegaflow.tui.panels import PANELS

KEYS: Final = (
    Binding("question_mark", "help", "help", key_display="?", id="help"),
    Binding("colon", "command_palette", "all commands", key_display=":", id="commands"),
    Binding(
        "slash",
        "filter",
        "filter rows: a regular expression, with ! those that it does not find",
        key_display="/",
        id="filter",
    ),
    Binding("p", "pause", "pause, and go on", id="pause"),
    Binding("z", "faults", "show faults only, and all", id="faults"),
    Binding("s", "sort", "sort rows by the next column", id="sort"),
    Binding("r", "reverse", "turn the order of rows around", id="reverse"),
    Binding("R", "reset", "count from now on, until Esc", id="reset"),
    Binding("M", "maximise", "give a panel the whole screen", id="maximise"),
    Binding("c", "compact", "show less of each panel", id="compact"),
    Binding("plus,equals_sign", "slower", "read less often", key_display="+", id="slower"),
    Binding("minus", "faster", "read more often", key_display="-", id="faster"),
    Binding("t", "theme", "the next theme", id="theme"),
    Binding("e", "export", "write what is known to a file of JSON", id="export"),
    Binding("right", "step(1)", "to the next panel, as Tab", id="next-panel"),
    Binding("left", "step(-1)", "to the panel before, as Shift+Tab", id="previous-panel"),
    Binding("down", "scroll(1)", "down, in a table to the next row", id="down"),
    Binding("up", "scroll(-1)", "up, in a table to the row before", id="up"),
    Binding("pagedown", "scroll(10)", "ten lines or rows down", id="page-down"),
    Binding("pageup", "scroll(-10)", "ten lines or rows up", id="page-up"),
    Binding("space", "read", "read now", id="read"),
    Binding(
        "left_square_bracket", "host(-1)", "the daemon before", key_display="[", id="previous-host"
    ),
    Binding("right_square_bracket", "host(1)", "the next daemon", key_display="]", id="next-host"),
    Binding(
        "x",
        "evict",
        "evict blocks of a tier or of the namespace under the cursor, with --allow-actions",
        id="evict",
    ),
    Binding("escape", "back", "back", id="back"),
    Binding("q,ctrl+c", "quit", "quit", key_display="q", id="quit"),
)
"""What each key does; a keymap file names them by id."""

PANEL_KEYS: Final = tuple(
    Binding(key, f"panel('{panel.NAME}')", f"show and hide {panel.TITLE}", id=panel.NAME)
    for key, panel in PANELS.items()
)
"""The keys that show and hide panels."""


def checked_keymap(keys: Mapping[str, str], bindings: Iterable[Binding]) -> dict[str, str]:
    """A user's keys by id; raises ``ConfigError`` for ids that ``bindings`` lack."""
    known = {binding.id or "" for binding in bindings}
    for name in keys:
        if name not in known:
            raise ConfigError(
                f"[keys] has {name}, which no key does; allowed: {', '.join(sorted(known))}"
            )
    return dict(keys)
