"""Settings: defaults < TOML file < ``PEGAFLOW_*`` environment < flags, each with its origin."""

from pegaflow.config.daemon import DaemonConfig
from pegaflow.config.load import (
    Loaded,
    Value,
    find_problems,
    load,
    resolve_socket,
    suspicious_variables,
)
from pegaflow.config.locations import user_file
from pegaflow.config.settings import SETTINGS, Config, Setting

__all__ = [
    "SETTINGS",
    "Config",
    "DaemonConfig",
    "Loaded",
    "Setting",
    "Value",
    "find_problems",
    "load",
    "resolve_socket",
    "suspicious_variables",
    "user_file",
]
