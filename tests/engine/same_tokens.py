"""Whether two runs of one prompt gave the same tokens, as far as arithmetic can tell."""

from collections.abc import Iterator, Sequence
from typing import Final

NOISE: Final = 1e-3
"""Log-probability by which two runs may differ; float32 runs of the tiny model: below 1e-4."""


def compared_positions(
    cold: Sequence[int], gaps: Sequence[float], warm: Sequence[int], noise: float = NOISE
) -> Iterator[bool]:
    """For each position that can be compared, whether both runs agree there.

    A position counts when the cold run's two best tokens are further apart than ``noise`` and
    both runs had the same tokens before it.
    """
    for expected, gap, found in zip(cold, gaps, warm, strict=True):
        if gap > noise:
            yield expected == found
        if expected != found:
            return


def assert_same_tokens(cold: Sequence[int], gaps: Sequence[float], warm: Sequence[int]) -> None:
    """Fail when a position that can be compared differs."""
    assert all(compared_positions(cold, gaps, warm)), f"{list(warm)} instead of {list(cold)}"
