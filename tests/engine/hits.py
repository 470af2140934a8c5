"""What vLLM did not have to compute, by its own counters."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hits:
    """Prompt tokens that vLLM found."""

    local: int
    """In its own prefix cache."""
    external: int
    """Through the connector."""

    def since(self, before: "Hits") -> "Hits":
        """What came after ``before``."""
        return Hits(self.local - before.local, self.external - before.external)
