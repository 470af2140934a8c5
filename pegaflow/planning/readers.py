"""Reading traces, line by line: what is wrong with a line is said with its number."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from pegaflow.errors import ConfigError
from pegaflow.planning.hashed import hashed_form
from pegaflow.planning.lengths import lengths_form
from pegaflow.planning.lines import BadLine, Form, Parse, ReadOptions, Request
from pegaflow.planning.trace import Trace
from pegaflow.planning.vllm_log import HOW, vllm_form

_MOST_SKIPPED_SAID: Final = 20
_LINES_PER_PROGRESS: Final = 10_000
_FORMS: Final = (hashed_form, lengths_form, vllm_form)


def read_trace(path: Path, options: ReadOptions, progress: Callable[[int], None]) -> Trace:
    """The trace in a file, compressed with gzip or not; its format is seen from its first line.

    ``progress`` is called with the bytes read so far, now and then. Raises ``ConfigError`` with the
    line for what cannot be used, unless ``options`` says to go on.
    """
    try:
        with _opened(path) as file:
            trace, parse = _form(path, file.readline(), options)
            file.seek(0)
            requests = _requests(path, file, trace, parse, options, progress)
            if options.sort_times:
                requests = iter(sorted(requests, key=lambda request: request.time_s))
            _add(trace, requests, options)
    except (EOFError, zlib.error) as error:
        raise ConfigError(f"the trace {path} is cut off or damaged ({error})") from error
    except OSError as error:
        raise ConfigError(
            f"the trace {path} cannot be read ({error.strerror or error}); give a file"
        ) from error
    if not trace.requests:
        how = f"; {HOW}" if trace.form == "vllm-log" else "; give another file"
        raise ConfigError(f"the trace {path} has no request that can be used{how}")
    return trace


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _requests(
    path: Path,
    lines: Iterator[str],
    trace: Trace,
    parse: Parse,
    options: ReadOptions,
    progress: Callable[[int], None],
) -> Iterator[Request]:
    last, done = float("-inf"), 0
    for number, line in enumerate(lines, start=1):
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
                trace.skipped.append(f"line {number}: {error}")
            continue
        last = request.time_s
        yield request


def _add(trace: Trace, requests: Iterator[Request], options: ReadOptions) -> None:
    start: float | None = None
    for request in requests:
        start = request.time_s if start is None else start
        full = request.tokens // trace.block_tokens
        names = request.names if options.count_partial else request.names[:full]
        trace.add(request.time_s - start, names, request.tokens)


def _form(path: Path, first: str, options: ReadOptions) -> Form:
    for form in _FORMS:
        if found := form(first, options):
            return found
    raise ConfigError(
        f"the format of {path} is not known from its first line; allowed: Mooncake or "
        "Qwen-Bailian JSONL (hash_ids), Azure CSV (TIMESTAMP, ContextTokens), BurstGPT CSV "
        f"(Timestamp, Request tokens), vLLM's log with token ids ({HOW})"
    )
