"""``pegaflow trace convert``."""

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import write_line
from pegaflow.cli.trace.options import BlockTokens, SkipBad, SortTimes, TraceFile, read_options
from pegaflow.cli.trace_reading import notes, reading_progress
from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.units import format_count

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
    have to be told. What cannot be written whole is not written at all.
    """
    from pegaflow.planning import open_trace

    context: AppContext = ctx.obj
    options = read_options(block_tokens, True, skip_bad, sort_times)
    with (
        open_trace(trace, options, reading_progress(context)) as (read, requests),
        _written(out) as file,
    ):
        count = _write(out, file, requests)
    notes(context, read)
    tokens = format_count(read.block_tokens, "token")
    write_line(context, f"wrote {format_count(count, 'request')} with blocks of {tokens}")


def _write(out: Path, file: IO[str], requests: "Iterable[Request]") -> int:
    count = 0
    for request in requests:
        line = {
            "timestamp": round(request.time_s * 1e3),
            "input_length": request.tokens,
            "output_length": 0,
            "hash_ids": request.names,
        }
        try:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        except OSError as error:
            raise _unwritten(out, error) from error
        count += 1
    return count


@contextmanager
def _written(out: Path) -> Iterator[IO[str]]:
    """A new file, which is gone again if it is not written to its end."""
    try:
        opened = gzip.open if out.suffix == ".gz" else open
        file = cast(IO[str], opened(out, "xt", encoding="utf-8"))
    except FileExistsError as error:
        raise ConfigError(f"{out} is there already: give another name") from error
    except OSError as error:
        raise ConfigError(
            f"{out} cannot be written ({error.strerror}): give another name"
        ) from error
    try:
        yield file
        try:
            file.close()
        except OSError as error:
            raise _unwritten(out, error) from error
    except BaseException:
        with suppress(OSError):
            file.close()
        out.unlink(missing_ok=True)
        raise


def _unwritten(out: Path, error: OSError) -> PegaflowError:
    return PegaflowError(f"{out} cannot be written to its end: {error.strerror}")
