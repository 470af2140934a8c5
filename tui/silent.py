"""A daemon that is known from elsewhere, as from a recording."""

from dataclasses import dataclass

from pegaflow.errors import Unreachable
from pegaflow.observe.sample import Sample


@dataclass(frozen=True)
class SilentSource:
    """A name, and no daemon to read."""

    host: str

    def read(self) -> Sample:
        """Nobody answers."""
        raise Unreachable(f"{self.host} is not read")

    def close(self) -> None:
        """Nothing is held."""
