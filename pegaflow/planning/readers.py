"""Reading traces, line by line: what is wrong with a line is said with its number."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

from pegaflow.errors import ConfigError
from pegaflow.planning.hashed import hashed_form
from pegaflow.planning.lengths import lengths_form
from pegaflow.planning.lines import BadLine, Form, Parse, ReadOptions, Request
from pegaflow.planning.recordings import RECORDINGS, recorded_form
from pegaflow.planning.trace import Trace
from pegaflow.planning.vllm_log import HOW, vllm_form

_MOST_SKIPPED_SAID: Final = 20
_LINES_PER_PROGRESS: Final = 10_000
_FORMS: Final = (recorded_form, hashed_form, lengths_form, vllm_form)


def read_trace(path: Path, options: ReadOptions, progress: Callable[[int], None]) -> Trace:
    """The trace in a file, compressed with gzip or not, or in a folder of recordings.

    Its format is seen from its first line. ``progress`` is called with the bytes read so far, now
    and then. Raises ``ConfigError`` with the line for what cannot be used, unless ``options`` says
    to go on.
    """
    with open_trace(path, options, progress) as (trace, requests):
        for request in requests:
            trace.add(request.time_s, request.names, request.tokens)
    if not trace.requests:
        how = f"; {HOW}" if trace.form == "vllm-log" else "; give another file"
        raise ConfigError(f"the trace {path} has no request that can be used{how}")
    return trace


@contextmanager
def open_trace(
    path: Path, options: ReadOptions, progress: Callable[[int], None]
) -> Iterator[tuple[Trace, Iterator[Request]]]:
    """The same trace, still empty, and its requests one by one.

    Their times are since the first, and their blocks those that ``options`` counts.
    """
    try:
        with ExitStack() as stack:
            files = [(file, stack.enter_context(_opened(file))) for file in _files(path)]
            trace, parse = _form(path, files[0][1].readline(), options)
            files[0][1].seek(0)
            requests = _requests(files, trace, parse, options, progress)
            if options.sort_times:
                requests = iter(sorted(requests, key=lambda request: request.time_s))
            yield trace, _counted(trace, requests, options)
    except (EOFError, zlib.error) as error:
        raise ConfigError(f"the trace {path} is cut off or damaged ({error})") from error
    except OSError as error:
        raise ConfigError(
            f"the trace {path} cannot be read ({error.strerror or error}); give a file"
        ) from error


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob(RECORDINGS)):
        return files
    raise ConfigError(f"the folder {path} has no recordings ({RECORDINGS}); give another one")


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _requests(
    files: Sequence[tuple[Path, IO[str]]],
    trace: Trace,
    parse: Parse,
    options: ReadOptions,
    progress: Callable[[int], None],
) -> Iterator[Request]:
    last, done = float("-inf"), 0
    lines = ((path, *line) for path, file in files for line in enumerate(file, start=1))
    for path, number, line in lines:
        done += len(line)
        if number % _LINES_PER_PROGRESS == 0:
            progress(done)
        try:
            request = parse(number, line) if line.strip() else None
            if request is None:
                continue
            if request.time_s < last and not options.sort_times:
                raise BadLine(
                    f"the time {request.time_s:g} s is before that of an earlier line "
                    f"({last:g} s): sort the trace by time, or give --sort-times"
                )
        except BadLine as error:
            if not options.skip_bad:
                raise ConfigError(
                    f"{path}, line {number}: {error}; --skip-bad goes on without such lines"
                ) from error
            trace.skipped_lines += 1
            if trace.skipped_lines <= _MOST_SKIPPED_SAID:
                where = f"{path.name}, " if len(files) > 1 else ""
                trace.skipped.append(f"{where}line {number}: {error}")
            continue
        last = request.time_s
        yield request


def _counted(trace: Trace, requests: Iterator[Request], options: ReadOptions) -> Iterator[Request]:
    start: float | None = None
    for request in requests:
        start = request.time_s if start is None else start
        full = request.tokens // trace.block_tokens
        names = request.names if options.count_partial else request.names[:full]
        yield Request(request.time_s - start, request.tokens, names)


def _form(path: Path, first: str, options: ReadOptions) -> Form:
    for form in _FORMS:
        if found := form(first, options):
            return found
    raise ConfigError(
        f"the format of {path} is not known from its first line; allowed: Mooncake or "
        "Qwen-Bailian JSONL (hash_ids), what a daemon recorded, Azure CSV (TIMESTAMP, "
        "ContextTokens), BurstGPT CSV (Timestamp, Request tokens), vLLM's log with token ids "
        f"({HOW})"
    )
