"""``pegaflow doctor``."""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, path_field, timeout_seconds
from pegaflow.cli.output import (
    can_redraw,
    error_console,
    table,
    write_json,
    write_line,
    write_tables,
)
from pegaflow.config import load
from pegaflow.units import format_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from pegaflow.doctor.finding import Finding

HELP: Final = """Check this machine, the daemon and vLLM, and say what to do.

Works without a daemon, without vLLM and without a GPU. With a daemon, 512 KiB of random bytes are
saved, loaded, compared and evicted.

\b
Everything:
  pegaflow doctor
The vLLM of another interpreter, and the disk that an ssd path is to be on:
  pegaflow doctor --python /opt/vllm/bin/python --disk /mnt/nvme0
What is wrong, for scripts:
  pegaflow doctor --json | jq '.findings[] | select(.level == "problem")'

Exit code 0: no problem; 5: problems were found.
"""

_STYLES: Final = {"ok": "green", "note": "yellow", "problem": "bold red"}


def doctor(
    ctx: typer.Context,
    python: Annotated[
        str,
        typer.Option(
            "--python",
            metavar="PATH",
            help="The interpreter that runs vLLM; this one's unless given.",
            show_default=False,
        ),
    ] = sys.executable,
    disk: Annotated[
        list[str] | None,
        typer.Option(
            "--disk",
            metavar="DIRECTORY",
            help="Measure the disk of a directory for 2 s too; may be given several times. Those "
            "of the configuration's ssd paths are measured anyway.",
            show_default=False,
        ),
    ] = None,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Look at the machine; ``HELP`` says more."""
    from pegaflow.doctor.examination import Wanted, examine

    context: AppContext = ctx.obj
    loaded = load({"socket": socket}, config=config, environ=context.environ)
    wanted = Wanted(
        client=context.connect(loaded.config.socket, timeout_seconds(timeout)),
        python=python,
        ssd=loaded.config.ssd or (),
        disks=[path_field("--disk", directory) for directory in disk or ()],
    )
    machine = context.machine(context.environ)
    with _told(context) as begin:
        findings = list(examine(machine, wanted, begin))
    problems = sum(finding.level == "problem" for finding in findings)
    if json:
        found = [dataclasses.asdict(finding) for finding in findings]
        write_json(context, "doctor", {"problems": problems, "findings": found})
    else:
        write_tables(context, [_table(findings)])
        notes = sum(finding.level == "note" for finding in findings)
        counted = f"{format_count(problems, 'problem')}, {format_count(notes, 'note')}"
        write_line(context, f"\n{counted}")
    if problems:
        raise typer.Exit(ExitCode.PROBLEMS)


@contextmanager
def _told(context: AppContext) -> "Iterator[Callable[[str], None]]":
    """Says on a terminal what is looked at, while it lasts."""
    if not can_redraw(context, context.stderr):
        yield lambda name: None
        return
    with error_console(context).status("looking at this machine") as shown:
        yield lambda name: shown.update(f"looking at this machine: {name}")


def _table(findings: "Sequence[Finding]") -> "Table":
    from rich.text import Text

    found = table()
    for finding in findings:
        level = Text(finding.level, style=_STYLES[finding.level])
        found.add_row(level, finding.check, finding.text)
        found.add_row("", "", f"found: {finding.evidence}", style="dim")
        if finding.remedy:
            found.add_row("", "", f"do: {finding.remedy}")
    return found
