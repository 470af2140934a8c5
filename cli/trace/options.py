"""What the commands that read traces have in common."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from pegaflow.planning import ReadOptions


MOST_BLOCK_TOKENS: Final = 1 << 20

TraceFile = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="A file of any form that `pegaflow plan` reads, or a folder of recordings.",
    ),
]
BlockTokens = Annotated[
    int | None,
    typer.Option(
        "--block-tokens",
        min=1,
        max=MOST_BLOCK_TOKENS,
        help="Tokens of a block, if not those of the form.",
        show_default=False,
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Go on behind what cannot be used.")]
SortTimes = Annotated[
    bool,
    typer.Option("--sort-times", help="Sort the requests by time; needs memory for them all."),
]


def read_options(
    block_tokens: int | None, count_partial: bool, skip_bad: bool, sort_times: bool
) -> "ReadOptions":
    """How a trace is read, where what its prompts share is never supposed."""
    from pegaflow.planning import ReadOptions

    return ReadOptions(block_tokens, count_partial, 0, skip_bad, sort_times)
