"""Reading traces, line by line: what is wrong with a line is said with its number."""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, Final, NamedTuple

from pegaflow.errors import ConfigError
from pegaflow.planning.hashed import hashed_form
from pegaflow.planning.lengths import lengths_form
from pegaflow.planning.lines import MOST_SECONDS, BadLine, Form, Parse, ReadOptions, Request
from pegaflow.planning.recordings import RECORDINGS, recorded_form
from pegaflow.planning.trace import Trace
from pegaflow.planning.vllm_log import HOW, vllm_form

_MOST_SKIPPED_SAID: Final = 20
_BYTES_PER_PROGRESS: Final = 8 << 20
_LONGEST_LINE: Final = 1 << 27
"""Characters of a line: enough for the most tokens, and for memory not to end with a line."""
_LOOK_LINES: Final = 100
"""So many lines may be before the first that has a format: what a program says as it starts."""
_LOOK: Final = 16 << 20
"""Characters of them; those of one line count up to the next bound."""
_MOST_COUNTED: Final = 64 << 10
_FORMS: Final = (recorded_form, hashed_form, lengths_form, vllm_form)


def read_trace(path: Path, options: ReadOptions, progress: Callable[[int], None]) -> Trace:
    """The trace in a file, compressed with gzip or not, or in a folder of recordings.

    Its format is seen from its first lines. ``progress`` is called with the bytes read so far, now
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
    with ExitStack() as stack:
        lines = _lines([(file, stack.enter_context(_opened(file))) for file in _files(path)])
        head = list[_Line]()
        trace, parse = _form(path, _looked_at(lines, head, options), options)
        requests = _requests(chain(head, lines), trace, parse, options, progress)
        if options.sort_times:
            requests = iter(sorted(requests, key=lambda request: request.time_s))
        yield trace, _counted(trace, requests, options)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob(RECORDINGS)):
        return files
    raise ConfigError(f"the folder {path} has no recordings ({RECORDINGS}); give another one")


def _opened(path: Path) -> IO[str]:
    try:
        # Some tools begin a file with a mark of its encoding.
        if path.suffix == ".gz":
            return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace")
        return path.open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise _unreadable(path, error) from error


class _Line(NamedTuple):
    path: Path
    number: int
    text: str | BadLine
    """Instead of a line that is too long, or what ends a file before its end, what is wrong."""


def _lines(files: Sequence[tuple[Path, IO[str]]]) -> Iterator[_Line]:
    for path, file in files:
        number = 0
        try:
            while text := file.readline(_LONGEST_LINE):
                number += 1
                if len(text) < _LONGEST_LINE or text.endswith("\n"):
                    yield _Line(path, number, text)
                    continue
                long = BadLine(f"it has {_LONGEST_LINE:,} characters or more")
                yield _Line(path, number, long)
                while text and not text.endswith("\n"):
                    text = file.readline(_LONGEST_LINE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            damage = BadLine(f"the file is cut off or damaged there ({error})")
            yield _Line(path, number + 1, damage)
        except OSError as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"the trace {path} cannot be read ({error.strerror or error}); give a file")


def _looked_at(lines: Iterator[_Line], head: list[_Line], options: ReadOptions) -> Iterator[_Line]:
    """The first lines, which are kept in ``head``; with ``skip_bad`` bad ones do not count."""
    looked = 0
    for line in lines:
        head.append(line)
        yield line
        if isinstance(line.text, str):
            looked += min(len(line.text), _MOST_COUNTED)
        if looked >= _LOOK or (len(head) >= _LOOK_LINES and not options.skip_bad):
            return


def _requests(
    lines: Iterable[_Line],
    trace: Trace,
    parse: Parse,
    options: ReadOptions,
    progress: Callable[[int], None],
) -> Iterator[Request]:
    last, done, told = float("-inf"), 0, 0
    for path, number, text in lines:
        try:
            if isinstance(text, BadLine):
                raise text
            done += len(text)
            if done >= told + _BYTES_PER_PROGRESS:
                told = done
                progress(done)
            request = parse(number, text) if text.strip() else None
            if request is None:
                continue
            if not abs(request.time_s) <= MOST_SECONDS:
                raise BadLine(
                    f"the time {request.time_s:g} s is too far from 0, allowed are at most "
                    f"{MOST_SECONDS:,} s"
                )
            if request.time_s < last and not options.sort_times:
                raise BadLine(
                    f"the time {request.time_s:g} s is before that of an earlier line "
                    f"({last:g} s): sort the trace by time, or give --sort-times"
                )
        except BadLine as error:
            if not options.skip_bad:
                raise ConfigError(
                    f"{path}, line {number}: {error}; --skip-bad goes on without what is bad"
                ) from error
            trace.skipped_lines += 1
            if trace.skipped_lines <= _MOST_SKIPPED_SAID:
                trace.skipped.append(f"{path.name}, line {number}: {error}")
            continue
        last = request.time_s
        yield request


def _counted(trace: Trace, requests: Iterator[Request], options: ReadOptions) -> Iterator[Request]:
    start: float | None = None
    for request in requests:
        start = request.time_s if start is None else start
        full = request.tokens // trace.block_tokens
        names = request.names if options.count_partial else request.names[:full]
        yield replace(request, time_s=request.time_s - start, names=names)


def _form(path: Path, lines: Iterable[_Line], options: ReadOptions) -> Form:
    """The format of the first line that has one."""
    bad: str | None = None
    is_empty = True
    for _, number, text in lines:
        is_empty = False
        try:
            if isinstance(text, BadLine):
                raise text
            for form in _FORMS:
                if found := form(text, options):
                    return found
        except BadLine as error:
            bad = bad or f"line {number}: {error}"
            if error is text and not options.skip_bad:
                break
    if bad is not None:
        raise ConfigError(f"{path}, {bad}; give another file")
    if is_empty:
        raise ConfigError(f"the trace {path} is empty; give another file")
    raise ConfigError(
        f"the format of {path} is not known from its first lines; allowed: Mooncake or "
        "Qwen-Bailian JSONL (hash_ids), what a daemon recorded, Azure CSV (TIMESTAMP, "
        "ContextTokens), BurstGPT CSV (Timestamp, Request tokens), vLLM's log with token ids "
        f"({HOW})"
    )
