"""The errors that PegaFlow raises, by what a caller can do about them.

Every text is one sentence for people: lower-case start, the value, what is allowed, what to do.
"""


class PegaflowError(Exception):
    """Base of all errors that PegaFlow raises on purpose."""


class ConfigError(PegaflowError):
    """A setting, an argument or the installation cannot be used as it is."""


class Unreachable(PegaflowError):
    """No daemon answers."""


class CallTimeout(PegaflowError):
    """The daemon did not answer, or a process did not end, within the deadline."""


class Refused(PegaflowError):
    """The daemon answered with an error."""


def clause(error: Exception) -> str:
    """What an error of others says, as the end of a sentence that goes on.

    >>> clause(OSError("Server disconnected.")), clause(TimeoutError())
    ('Server disconnected', 'TimeoutError')
    """
    return str(error).rstrip(". ") or type(error).__name__
