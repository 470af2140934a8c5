"""Where the configuration file and the daemon's socket are: one rule for every command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pegaflow.errors import ConfigError

SOCKET_MAX_BYTES: Final = 107
"""The longest path that Linux can bind a Unix socket to."""

SYSTEM_FILE: Final = Path("/etc/pegaflow/config.toml")


def user_file(environ: Mapping[str, str]) -> Path | None:
    """The user's own configuration file, which need not exist; None for a user with no home."""
    if base := environ.get("XDG_CONFIG_HOME"):
        return Path(base) / "pegaflow/config.toml"
    if home := environ.get("HOME"):
        return Path(home) / ".config/pegaflow/config.toml"
    return None


def find_file(explicit: str | None, environ: Mapping[str, str]) -> Path | None:
    """The configuration file in force: ``explicit``, ``PEGAFLOW_CONFIG``, the user's, the system's.

    One that is named must exist; without one that exists the defaults are in force (None).
    """
    named = {"--config": explicit, "PEGAFLOW_CONFIG": environ.get("PEGAFLOW_CONFIG")}
    for origin, text in named.items():
        if text:
            path = Path(text).expanduser()
            if path.is_dir():
                raise ConfigError(
                    f"the configuration file {path} (from {origin}) is a directory; name a file"
                )
            if not _is_file(path):
                raise ConfigError(
                    f"the configuration file {path} (from {origin}) does not exist; "
                    "`pegaflow config init` writes one"
                )
            return path
    candidates = (user_file(environ), SYSTEM_FILE)
    return next((path for path in candidates if path is not None and _is_file(path)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise ConfigError(
            f"the configuration file {path} cannot be looked for: {error.strerror}; set HOME or "
            "XDG_CONFIG_HOME to a directory of yours"
        ) from error


def runtime_directory(environ: Mapping[str, str]) -> Path:
    """The directory of the socket, the pid file and the log file."""
    return Path(environ.get("XDG_RUNTIME_DIR") or "/run") / "pegaflow"
