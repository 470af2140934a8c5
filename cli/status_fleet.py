"""The status of several daemons, over HTTP."""

import json as jsons
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pegaflow.cli.context import AppContext
from pegaflow.cli.exit_codes import ExitCode, exit_code_of
from pegaflow.cli.output import note, table, write_json, write_line, write_tables
from pegaflow.cli.top.sources import remote_sources
from pegaflow.cli.waiting import waiting
from pegaflow.document import parse
from pegaflow.errors import PegaflowError
from pegaflow.models import Status
from pegaflow.units import format_duration, format_size

if TYPE_CHECKING:
    from rich.table import Table

    from pegaflow.observe.source import HttpSource


@dataclass(frozen=True)
class _Answer:
    host: str
    document: str | None = None
    status: Status | None = None
    error: PegaflowError | None = None

    @property
    def exit_code(self) -> ExitCode:
        if self.error is not None:
            return exit_code_of(self.error)
        is_degraded = self.status is not None and self.status.state == "degraded"
        return ExitCode.PROBLEMS if is_degraded else ExitCode.OK


def status_of_all(
    context: AppContext, urls: Mapping[str, str], timeout_s: float, *, json: bool
) -> ExitCode:
    """Write the status of the daemon at each address; the exit code is of the worst."""
    sources = remote_sources(urls, timeout_s)
    asking = waiting(context, "asking the daemons")
    with asking, ThreadPoolExecutor(max_workers=len(sources)) as pool:
        answers = list(pool.map(_ask, sources))
    if json:
        write_json(context, "fleet", {"hosts": [_document(answer) for answer in answers]})
    else:
        write_tables(context, [_table(answers)])
        for reason in _reasons(answers):
            write_line(context, reason)
    for answer in answers:
        if answer.error is not None:
            note(context, f"{answer.host}: {answer.error}")
    codes = {answer.exit_code for answer in answers}
    worst_first = (ExitCode.UNREACHABLE, ExitCode.TIMEOUT, ExitCode.FAILED, ExitCode.PROBLEMS)
    return next((code for code in worst_first if code in codes), ExitCode.OK)


def _ask(source: "HttpSource") -> _Answer:
    try:
        document = source.status()
        return _Answer(source.host, document, parse(Status, document))
    except PegaflowError as error:
        return _Answer(source.host, error=error)
    finally:
        source.close()


def _document(answer: _Answer) -> dict[str, Any]:
    return {
        "host": answer.host,
        "status": None if answer.document is None else jsons.loads(answer.document),
        "error": None if answer.error is None else str(answer.error),
    }


def _table(answers: list[_Answer]) -> "Table":
    shown = table("host", "state", "version", "up", "memory", "ssd", "hits", "engines")
    for answer in answers:
        status = answer.status
        if status is None:
            shown.add_row(answer.host, "no answer")
            continue
        ssd = sum(path.used_bytes for path in status.ssd.paths) if status.ssd else None
        hits = status.blocks.hit_rate
        shown.add_row(
            answer.host,
            status.state,
            status.version,
            format_duration(status.uptime_s),
            f"{format_size(status.pool.used_bytes)} of {format_size(status.pool.bytes)}",
            "" if ssd is None else format_size(ssd),
            "" if hits is None else f"{hits:.1%}",
            str(len(status.engines)),
        )
    return shown


def _reasons(answers: list[_Answer]) -> Iterator[str]:
    """Why daemons are degraded."""
    for answer in answers:
        if answer.status is not None:
            yield from (f"{answer.host}: {reason}" for reason in answer.status.reasons)
