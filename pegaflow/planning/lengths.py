"""Traces in lines of CSV that have lengths only, of Azure and BurstGPT: blocks are supposed."""

import csv
from datetime import UTC, datetime
from typing import Final

from pegaflow.planning.lines import MOST_TOKENS, BadLine, Form, Parse, ReadOptions, Request
from pegaflow.planning.trace import Trace
from pegaflow.printable import quoted

_BLOCK_TOKENS: Final = 16
_MOST_COLUMNS: Final = 1 << 16
"""Characters of the line of columns."""
_SUPPOSED: Final = (
    "supposed, as the trace has no content: prompts share their first {shared} tokens, {sessions}"
)
_OWN: Final = "and each request is otherwise new"
_SESSIONS: Final = "and the requests of a session begin with what its earlier ones had"
_FORMS: Final = (
    ("azure", ("timestamp", "contexttokens"), None, "generatedtokens", set[str]()),
    (
        "burstgpt",
        ("timestamp", "request tokens"),
        "session id",
        "response tokens",
        {"elapsed time", "model", "total tokens", "log type"},
    ),
)
"""Of each its name, the columns that it needs, those of sessions and answers, and the others."""


def lengths_form(first: str, options: ReadOptions) -> Form | None:
    """The format whose line of columns this is, if it is one of these."""
    header = [name.strip().lower() for name in _cells(first[:_MOST_COLUMNS])]
    for form, needed, session, answer, others in _FORMS:
        if not set(needed) <= set(header):
            continue
        says = _SESSIONS if session in header else _OWN
        reuse = _SUPPOSED.format(shared=options.shared_tokens, sessions=says)
        block_tokens = options.block_tokens or _BLOCK_TOKENS
        trace = Trace(form, block_tokens, reuse, has_content=False)
        if unknown := sorted(set(header) - {*needed, session, answer} - others):
            trace.notes.append(f"there are columns that are not used: {', '.join(unknown)}")
        columns = [header.index(name) if name in header else None for name in (session, answer)]
        return trace, _parser(first, header, needed, columns, trace.block_tokens, options)
    return None


def _parser(
    first: str,
    header: list[str],
    needed: tuple[str, str],
    others: list[int | None],
    block_tokens: int,
    options: ReadOptions,
) -> Parse:
    time_at, tokens_at = (header.index(name) for name in needed)
    numbers: dict[str, int] = {}

    def parse(number: int, line: str) -> Request | None:
        if line == first:
            return None
        cells = _cells(line)
        if len(cells) <= max(time_at, tokens_at):
            raise BadLine(f"it has {len(cells)} cells, there are {len(header)} columns")
        tokens = _tokens(cells[tokens_at])
        session, answer = (cells[at] if at is not None and at < len(cells) else "" for at in others)
        of_session = numbers.setdefault(session, len(numbers) + 1) if session else -number
        shared = options.shared_tokens // block_tokens
        names = [
            block if block < shared else ((of_session & (1 << 32) - 1) + 1 << 31) + block
            for block in range(-(-tokens // block_tokens))
        ]
        answer_tokens = _tokens(answer) if answer.strip() else 0
        return Request(_time(cells[time_at]), tokens, names, answer_tokens)

    return parse


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise BadLine(f"it is no CSV ({error})") from error


def _tokens(text: str) -> int:
    digits = text.strip()
    # Python reads no more than some thousand digits as a whole number.
    tokens = float(digits) if digits.isascii() and digits.isdigit() else -1.0
    if not 0 <= tokens <= MOST_TOKENS:
        raise BadLine(
            f"{quoted(text)} is no number of tokens, allowed is one from 0 to {MOST_TOKENS:,}"
        )
    return int(tokens)


def _time(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise BadLine(f"{quoted(text)} is no time in seconds or as YYYY-MM-DD hh:mm:ss") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
