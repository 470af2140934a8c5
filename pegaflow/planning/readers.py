"""Reading traces, line by line: what is wrong with a line is said with its number."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pegaflow.errors import ConfigError
from pegaflow.planning.trace import Trace

MOONCAKE_BLOCK_TOKENS: Final = 512
QWEN_BLOCK_TOKENS: Final = 16
_MOST_SKIPPED_SAID: Final = 20
_RECORDED: Final = "recorded: equal hash ids are equal blocks"
_NO_CONTENT: Final = (
    "supposed, as the trace has no content: prompts share their first {shared} tokens, {sessions}"
)
_OWN: Final = "and each request is otherwise new"
_SESSIONS: Final = "and the requests of a session begin with what its earlier ones had"


class _BadLine(ValueError):
    """A line that cannot be used."""


@dataclass(frozen=True)
class ReadOptions:
    """How a trace is read."""

    block_tokens: int | None = None
    """Tokens of a block; None for what the format has."""
    count_partial: bool = False
    """Count the partial block at a prompt's end too; engines cache full ones only."""
    shared_tokens: int = 0
    """Tokens that all prompts begin with, for traces that have no content."""
    skip_bad: bool = False
    """Go on behind lines that cannot be used, and list them."""


@dataclass(frozen=True)
class _Request:
    time_s: float
    tokens: int
    names: list[int]


_Parse = Callable[[int, str], _Request | None]


def read_trace(path: Path, options: ReadOptions, progress: Callable[[int], None]) -> Trace:
    """The trace in a file; its format is seen from its first line.

    ``progress`` is called with the bytes read so far, now and then. Raises ``ConfigError`` with the
    line for what cannot be used, unless ``options`` says to go on.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            first = lines.readline()
            trace, parse = _form(path, first, options)
            lines.seek(0)
            _read(path, lines, trace, parse, options, progress)
    except OSError as error:
        raise ConfigError(
            f"the trace {path} cannot be read ({error.strerror}); give a file"
        ) from error
    if not trace.requests:
        raise ConfigError(f"the trace {path} has no request that can be used; give another file")
    return trace


def _read(
    path: Path,
    lines: Iterator[str],
    trace: Trace,
    parse: _Parse,
    options: ReadOptions,
    progress: Callable[[int], None],
) -> None:
    start: float | None = None
    last, done = float("-inf"), 0
    for number, line in enumerate(lines, start=1):
        done += len(line)
        if number % 10_000 == 0:
            progress(done)
        try:
            request = parse(number, line) if line.strip() else None
            if request is None:
                continue
            if request.time_s < last:
                raise _BadLine(
                    f"the time {request.time_s:g} s is before that of an earlier line "
                    f"({last:g} s): sort the trace by time"
                )
        except _BadLine as error:
            if not options.skip_bad:
                raise ConfigError(
                    f"{path}, line {number}: {error}; --skip-bad goes on without such lines"
                ) from error
            if len(trace.skipped) < _MOST_SKIPPED_SAID:
                trace.skipped.append(f"line {number}: {error}")
            continue
        start, last = request.time_s if start is None else start, request.time_s
        full = request.tokens // trace.block_tokens
        names = request.names if options.count_partial else request.names[:full]
        trace.add(request.time_s - start, names, request.tokens)


def _form(path: Path, first: str, options: ReadOptions) -> tuple[Trace, _Parse]:
    if first.lstrip().startswith("{"):
        try:
            keys = set(json.loads(first))
        except ValueError:
            keys = set()
        if "hash_ids" in keys or not keys:
            is_qwen = bool(keys & {"chat_id", "parent_chat_id", "turn"})
            form = "qwen-bailian" if is_qwen else "mooncake"
            default = QWEN_BLOCK_TOKENS if is_qwen else MOONCAKE_BLOCK_TOKENS
            trace = Trace(form, options.block_tokens or default, _RECORDED)
            return trace, _hashed(trace.block_tokens, 1.0 if is_qwen else 1e-3)
    header = [name.strip().lower() for name in next(csv.reader([first]), [])]
    tokens = options.block_tokens or QWEN_BLOCK_TOKENS
    for form, needed, session, says in (
        ("azure", ("timestamp", "contexttokens"), None, _OWN),
        ("burstgpt", ("timestamp", "request tokens"), "session id", _SESSIONS),
    ):
        if set(needed) <= set(header):
            says = says if session in header else _OWN
            reuse = _NO_CONTENT.format(shared=options.shared_tokens, sessions=says)
            return Trace(form, tokens, reuse), _lengths(header, needed, session, tokens, options)
    raise ConfigError(
        f"the format of {path} is not known from its first line; allowed: Mooncake or "
        "Qwen-Bailian JSONL (hash_ids), Azure CSV (TIMESTAMP, ContextTokens), BurstGPT CSV "
        "(Timestamp, Request tokens)"
    )


def _hashed(block_tokens: int, unit_s: float) -> _Parse:
    """Lines of JSON with hash ids, and times in ``unit_s``."""

    def parse(_: int, line: str) -> _Request:
        try:
            raw = json.loads(line)
        except ValueError as error:
            raise _BadLine(f"it is no JSON ({error})") from error
        if not isinstance(raw, dict):
            raise _BadLine("it is no JSON object")
        time = _number(raw, "timestamp")
        tokens = int(_number(raw, "input_length"))
        ids = raw.get("hash_ids")
        if not isinstance(ids, list) or not all(type(i) is int and 0 <= i < 1 << 64 for i in ids):
            raise _BadLine("hash_ids is not a list of whole numbers from 0 to 2^64 - 1")
        wanted = -(-tokens // block_tokens)
        if wanted - len(ids) not in (0, 1):
            raise _BadLine(
                f"{len(ids)} hash ids do not fit {tokens} tokens in blocks of {block_tokens}, "
                f"which are {wanted}: give the trace's block size with --block-tokens"
            )
        return _Request(time * unit_s, tokens, ids)

    return parse


def _number(raw: dict[str, Any], key: str) -> float:
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise _BadLine(f"{key} is {value!r}, allowed is a number from 0 on")
    return value


def _lengths(
    header: list[str],
    needed: tuple[str, str],
    session: str | None,
    block_tokens: int,
    options: ReadOptions,
) -> _Parse:
    """Lines of CSV with lengths only: the blocks are supposed."""
    time_at, tokens_at = (header.index(name) for name in needed)
    session_at = header.index(session) if session in header else None
    numbers: dict[str, int] = {}

    def parse(number: int, line: str) -> _Request | None:
        if number == 1:
            return None
        cells = next(csv.reader([line]), [])
        if len(cells) <= max(time_at, tokens_at):
            raise _BadLine(f"it has {len(cells)} cells, the first line {len(header)}")
        if not cells[tokens_at].strip().isdigit():
            raise _BadLine(f"{cells[tokens_at]!r} is no number of tokens")
        tokens = int(cells[tokens_at])
        has_session = session_at is not None and session_at < len(cells) and cells[session_at]
        key = cells[session_at] if has_session and session_at is not None else f"\n{number}"
        of_session = numbers.setdefault(key, len(numbers) + 1) if has_session else -number
        shared = options.shared_tokens // block_tokens
        names = [
            block if block < shared else ((of_session & (1 << 32) - 1) + 1 << 31) + block
            for block in range(-(-tokens // block_tokens))
        ]
        return _Request(_time(cells[time_at]), tokens, names)

    return parse


def _time(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        # Some traces have seven digits behind the second.
        whole, _, fraction = text.strip().partition(".")
        seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
        return seconds + (float(f"0.{fraction}") if fraction else 0.0)
    except ValueError as error:
        raise _BadLine(f"{text!r} is no time in seconds or as YYYY-MM-DD hh:mm:ss") from error
