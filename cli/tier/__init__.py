"""``pegaflow tier``: one module per command."""

import typer

from pegaflow.cli.tier import drain, evict, flush, listing, paths, resize, verify

app = typer.Typer(help="See and change the tiers of the cache.", rich_markup_mode=None)
app.command("list")(listing.listing)
app.command("resize")(resize.resize)
app.command("flush")(flush.flush)
app.command("drain")(drain.drain)
app.command("evict")(evict.evict)
app.command("verify")(verify.verify)
app.command("add-path")(paths.add)
app.command("remove-path")(paths.remove)
