"""Whether two runs of one prompt gave the same tokens, as far as arithmetic can tell."""

from collections.abc import Sequence
from typing import Final

NOISE: Final = 1e-3
"""Log-probability by which two runs may differ; float32 runs of the tiny model: below 1e-4."""


def assert_same_tokens(cold: Sequence[int], gaps: Sequence[float], warm: Sequence[int]) -> None:
    """Fail at the first position where ``warm`` differs, unless ``cold`` was undecided there.

    What comes after an undecided position that differs cannot be compared.
    """
    assert len(cold) == len(warm), f"{len(warm)} tokens instead of {len(cold)}"
    for position, (expected, gap, found) in enumerate(zip(cold, gaps, warm, strict=True)):
        if expected != found:
            assert gap <= NOISE, f"token {found} instead of {expected} at position {position}"
            return
