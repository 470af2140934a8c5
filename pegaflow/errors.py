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
