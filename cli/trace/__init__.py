"""``pegaflow trace``: one module per command."""

import typer

from pegaflow.cli.trace import convert, info, record, replay

app = typer.Typer(
    help="Record what engines look up; show, convert and replay traces.",
    rich_markup_mode=None,
)
app.command("record")(record.record)
app.command("info")(info.info)
app.command("convert")(convert.convert)
app.command("replay")(replay.replay)
