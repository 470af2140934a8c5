"""Settings as a TOML file that explains itself."""

from textwrap import fill

import toml

from pegaflow.config.load import Loaded, Value


def as_toml(loaded: Loaded) -> str:
    """A configuration file with every setting: those that are not defaults in force."""
    head = "# PegaFlow's configuration. PEGAFLOW_* variables and flags win over it.\n"
    return head + "".join(map(_entry, loaded.values.values()))


def _entry(value: Value) -> str:
    setting = value.setting
    about = fill(
        f"{setting.help} Allowed: {setting.kind.allowed}.",
        width=100,
        initial_indent="# ",
        subsequent_indent="# ",
        break_on_hyphens=False,
    )
    line = toml.dumps({setting.key: value.text})
    return f"\n{about}\n{line if value.source != 'default' else f'# {line}'}"
