"""Where and of what the figures are."""

from collections.abc import Iterator

from pegaflow.bench.machine import describe
from tests.bench.commit import commit
from tests.bench.rows import Row


def rows() -> Iterator[Row]:
    """Machine, versions, commit and date, as rows without a target."""
    for name, text in {**describe(), "commit": commit()}.items():
        yield Row(name, text, "")
