"""Readings as lines: JSON, CSV, or text."""

import csv
import io
import json
from collections.abc import Iterable

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.exit_codes import ExitCode, exit_code_of
from pegaflow.cli.output import note, write_line
from pegaflow.cli.top.readings import Reading
from pegaflow.observe import fleet
from pegaflow.observe.rows import CSV, Cell, csv_gap, csv_row
from pegaflow.observe.stat_lines import StatLines


def write(
    context: AppContext, form: str, reading: Reading, before: Reading | None, stat: StatLines
) -> None:
    """One reading in the ``form`` json, csv, stat or headless; the first has a heading."""
    if form == "headless":
        _tell_gaps(context, reading, before)
        return
    first = before is None
    if form == "json":
        document = fleet.document(reading.at, reading.snapshots, reading.unanswered)
        write_line(context, json.dumps(document))
        return
    if form == "csv":
        rows: list[Iterable[Cell]] = [CSV] if first else []
        rows += [csv_row(snapshot) for snapshot in reading.snapshots]
        rows += [csv_gap(gap, reading.at) for gap in reading.unanswered]
        lines = [_csv_line(row) for row in rows]
    else:
        lines = [stat.heading] if first else []
        lines += [stat.line(snapshot) for snapshot in reading.snapshots]
        lines += [stat.gap(gap, reading.at) for gap in reading.unanswered]
    for line in lines:
        write_line(context, line)


def _tell_gaps(context: AppContext, reading: Reading, before: Reading | None) -> None:
    """Who answers no more, and who does again: each once, for a recorder runs for weeks."""
    silent = {} if before is None else before.failures
    for gap in reading.unanswered:
        if gap.host not in silent:
            note(context, f"{gap.host}: {gap.error}")
    for host in silent:
        if host not in reading.failures:
            note(context, f"{host} answers again")


def check(reading: Reading, *, is_told: bool) -> None:
    """End the command with what scripts want to know, when not all is well.

    Who does not answer is said, unless it ``is_told``.
    """
    for error in reading.failures.values():
        raise typer.Exit(exit_code_of(error)) if is_told else error
    if any(snapshot.daemon.state == "degraded" for snapshot in reading.snapshots):
        raise typer.Exit(ExitCode.PROBLEMS)


def _csv_line(row: Iterable[Cell]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(["" if cell is None else cell for cell in row])
    return text.getvalue()
