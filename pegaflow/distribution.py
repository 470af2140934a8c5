"""Refuses to run over another distribution that installs the same import package."""

import os
import sys
from collections.abc import Iterable
from typing import Final

from pegaflow.errors import ConfigError

_STRANGER: Final = "pegaflow_llm"
"""Wheels of the published PegaFlow: pegaflow-llm, and one more for each version of CUDA."""


def refuse_strangers(path: Iterable[str] | None = None) -> None:
    """Raise ``ConfigError`` when such a distribution is installed on ``path`` (``sys.path``).

    Lists directories first: importing ``importlib.metadata`` costs 30 ms, and is only needed then.
    """
    directories = list(sys.path if path is None else path)
    if not any(_holds_stranger(directory) for directory in directories):
        return
    from importlib import metadata

    for found in metadata.distributions(path=directories):
        name = found.metadata["Name"]
        if name.lower().replace("-", "_").replace(".", "_").startswith(_STRANGER):
            raise ConfigError(
                f"{name} {found.version} installs an import package of the same name, pegaflow, "
                f"and the two overwrite each other: uninstall {name} and install pegaflow-kv again"
            )


def _holds_stranger(directory: str) -> bool:
    try:
        with os.scandir(directory or ".") as entries:
            names = [entry.name.lower() for entry in entries]
    except OSError:
        return False
    return any(
        name.startswith(_STRANGER) and name.endswith((".dist-info", ".egg-info")) for name in names
    )
