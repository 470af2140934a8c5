"""``pegaflow bench``: one module per measurement."""

import typer

from pegaflow.cli.bench import restart, sharing, transfer, ttft

app = typer.Typer(help="Measure what the cache does on this machine.", rich_markup_mode=None)
app.command("transfer")(transfer.transfer)
app.command("ttft")(ttft.ttft)
app.command("restart")(restart.restart)
app.command("sharing")(sharing.sharing)
