"""``pegaflow trace convert``."""

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, BinaryIO

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import write_line
from pegaflow.cli.trace.options import BlockTokens, SkipBad, SortTimes, TraceFile, read_options
from pegaflow.cli.trace_reading import notes, reading_progress
from pegaflow.errors import ConfigError
from pegaflow.units import format_count
from pegaflow.whole_file import whole_file

if TYPE_CHECKING:
    from pegaflow.planning.lines import Request


def convert(
    ctx: typer.Context,
    trace: TraceFile,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The file to write; one named .gz is compressed."),
    ],
    block_tokens: BlockTokens = None,
    skip_bad: SkipBad = False,
    sort_times: SortTimes = False,
) -> None:
    """Write a trace in Mooncake's form, which other tools read too.

    Times are since the first request. Blocks keep their size: where that is not 512 tokens, readers
    have to be told. Answers have the lengths that the trace says, else 0. What cannot be written
    whole is not written at all.
    """
    from pegaflow.planning import open_trace

    context: AppContext = ctx.obj
    if str(out) == "-":
        raise ConfigError(
            "OUT '-' cannot be used: what cannot be written whole is not written at all, which "
            "standard output cannot take back; give the name of a file"
        )
    options = read_options(block_tokens, True, skip_bad, sort_times)
    try:
        with (
            open_trace(trace, options, reading_progress(context)) as (read, requests),
            whole_file(out, replace=False) as file,
            _text(out, file) as text,
        ):
            count = _write(text, requests)
    except FileExistsError as error:
        raise ConfigError(f"{out} is there already: give another name") from error
    notes(context, read)
    tokens = format_count(read.block_tokens, "token")
    write_line(context, f"wrote {format_count(count, 'request')} with blocks of {tokens}")


def _write(file: IO[str], requests: "Iterable[Request]") -> int:
    count = 0
    for request in requests:
        line = {
            "timestamp": round(request.time_s * 1e3),
            "input_length": request.tokens,
            "output_length": request.answer_tokens,
            "hash_ids": request.names,
        }
        file.write(json.dumps(line, separators=(",", ":")) + "\n")
        count += 1
    return count


@contextmanager
def _text(out: Path, file: BinaryIO) -> Iterator[IO[str]]:
    """Text that goes to ``file``, which stays open, compressed where its name says so."""
    with ExitStack() as stack:
        packed = out.suffix == ".gz"
        raw = stack.enter_context(gzip.GzipFile(out.name, "wb", fileobj=file)) if packed else file
        text = io.TextIOWrapper(raw, encoding="utf-8")
        yield text
        text.detach()
