"""One measured figure, with what it has to reach."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Row:
    """A figure. ``bound`` says whether ``target`` is the most or the least that is allowed."""

    name: str
    value: float | str
    unit: str
    target: float | None = None
    bound: Literal["most", "least"] = "most"

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None for a figure without one."""
        if self.target is None or isinstance(self.value, str):
            return None
        return self.value <= self.target if self.bound == "most" else self.value >= self.target

    def document(self) -> dict[str, Any]:
        """The row in bench.json."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "target": self.target,
            "bound": self.bound if self.target is not None else None,
            "met": self.met,
        }
