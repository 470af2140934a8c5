"""The smallest Typer program that has commands: what Typer itself costs at its start."""

import typer

app = typer.Typer()


@app.command()
def one(name: str) -> None:
    """Say a name."""
    typer.echo(name)


@app.command()
def two(count: int) -> None:
    """Say a number."""
    typer.echo(count)


if __name__ == "__main__":
    app()
