"""What the exit code of every command means."""

from enum import IntEnum
from typing import Final

from pegaflow import errors


class ExitCode(IntEnum):
    """The exit codes. A broken pipe is a success."""

    OK = 0
    FAILED = 1
    """The operation failed."""
    USAGE = 2
    """The command line or the configuration is wrong."""
    UNREACHABLE = 3
    """No daemon answers."""
    TIMEOUT = 4
    """It took longer than allowed."""
    PROBLEMS = 5
    """A check found problems, or the daemon is degraded."""
    INTERRUPTED = 130
    """Ctrl-C."""


_BY_ERROR: Final[dict[type[errors.PegaflowError], ExitCode]] = {
    errors.ConfigError: ExitCode.USAGE,
    errors.Unreachable: ExitCode.UNREACHABLE,
    errors.CallTimeout: ExitCode.TIMEOUT,
}


def exit_code_of(error: errors.PegaflowError) -> ExitCode:
    """The exit code of a command that ends with ``error``."""
    return _BY_ERROR.get(type(error), ExitCode.FAILED)
