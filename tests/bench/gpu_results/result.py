"""One measured figure, with its target, and how it was measured."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Result:
    """A figure; one that could not be measured has a ``failure`` instead of a value."""

    what: str
    value: float | None
    unit: str
    target: float | None = None
    bound: Literal["most", "least"] = "most"
    how: str = ""
    failure: str | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None for a figure without one that was measured."""
        if self.failure is not None or self.value is None:
            return False
        if self.target is None:
            return None
        return self.value <= self.target if self.bound == "most" else self.value >= self.target

    def document(self) -> dict[str, Any]:
        """The row in the file of results."""
        return {**asdict(self), "met": self.met}

    @classmethod
    def of(cls, document: dict[str, Any]) -> "Result":
        """The inverse of ``document``."""
        return cls(**{key: value for key, value in document.items() if key != "met"})


def survived(what: str, rows: Iterable[Result]) -> Iterator[Result]:
    """The rows up to the first that cannot be measured, and that one as a failure.

    What is measured meets drivers, daemons and vLLM: whatever they raise ends this part alone.
    """
    try:
        yield from rows
    except Exception as error:
        yield Result(what, None, "", failure=f"{type(error).__name__}: {error}")
