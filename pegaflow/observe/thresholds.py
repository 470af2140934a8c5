"""From which values on something is worth a look, or a fault."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pegaflow.errors import ConfigError

Level = Literal["ok", "warning", "critical"]


@dataclass(frozen=True)
class Threshold:
    """A measure with its two limits; None: it is never worth a word."""

    unit: str
    help: str
    warning: float | None = None
    critical: float | None = None

    def level(self, value: float | None) -> Level:
        """What a value means."""
        if value is None:
            return "ok"
        if self.critical is not None and value >= self.critical:
            return "critical"
        if self.warning is not None and value >= self.warning:
            return "warning"
        return "ok"


DEFAULTS: Final[Mapping[str, Threshold]] = {
    "age": Threshold("s", "age of what is shown", 3, 10),
    "corrupt": Threshold("blocks", "corrupt blocks since the start", 1, 10),
    "failures": Threshold("transfers", "failed saves and loads in the window", 1, 10),
    "leased": Threshold("%", "part of the pool that leases hold", 50, 80),
    "lease-age": Threshold("s", "age of the oldest lease: a leak?", 120, 480),
    "load-p99": Threshold("ms", "p99 of loads in the window", 200, 2000),
    "lookup-p99": Threshold("ms", "p99 of lookups in the window", 5, 50),
    "memory": Threshold("%", "part of the pool that is used"),
    "miss": Threshold("%", "blocks that were missed in the window"),
    "no-space": Threshold("pages", "reservations without room in the window", 1, 100),
    "ssd": Threshold("%", "part of the ssd tier that is used"),
    "unwritten": Threshold("blocks", "blocks evicted unwritten in the window", 1, 1000),
}
"""Every measure. Full tiers and misses are how a cache works, so those have no limits at first."""

THRESHOLD_FORM: Final = "NAME=WARNING,CRITICAL such as load-p99=100,1000, or NAME=off; names: " + (
    ", ".join(DEFAULTS)
)
"""What ``with_changes`` accepts, in words."""


def with_changes(
    changes: Iterable[str], base: Mapping[str, Threshold] = DEFAULTS
) -> dict[str, Threshold]:
    """``base`` with changes as ``NAME=WARNING,CRITICAL``; raises ``ConfigError`` for others.

    >>> with_changes(["miss=50,90"])["miss"].level(60)
    'warning'
    """
    thresholds = dict(base)
    for text in changes:
        name, _, limits = text.partition("=")
        name = name.strip()
        try:
            old = thresholds[name]
            if limits.strip() == "off":
                warning = critical = None
            else:
                warning, critical = (float(limit) for limit in limits.split(","))
                if not 0 <= warning <= critical:
                    raise ValueError(text)
        except (KeyError, ValueError) as error:
            raise ConfigError(
                f"threshold {text!r} cannot be used; allowed: {THRESHOLD_FORM}"
            ) from error
        thresholds[name] = Threshold(old.unit, old.help, warning, critical)
    return thresholds
