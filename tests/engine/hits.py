"""What vLLM did not have to compute, by its own counters."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Hits:
    """Prompt tokens that vLLM found."""

    local: int
    """In its own prefix cache."""
    external: int
    """Through the connector."""
    asked: int = field(default=0, compare=False)
    """Prompt tokens for which vLLM looked into its own prefix cache."""

    def since(self, before: "Hits") -> "Hits":
        """What came after ``before``."""
        return Hits(
            self.local - before.local,
            self.external - before.external,
            self.asked - before.asked,
        )

    def of_one_prompt(self, tokens: int) -> "Hits":
        """The hits of the only prompt that was asked, of so many tokens.

        Until 0.27 vLLM counts the local ones again at each try to schedule it.
        """
        tries = max(1, self.asked // tokens)
        return Hits(self.local // tries, self.external, tokens)
