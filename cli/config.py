"""``pegaflow config show``, ``check`` and ``init``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.options import ConfigFile, Json
from pegaflow.cli.output import table, write_json, write_line, write_tables
from pegaflow.config import DaemonConfig, Loaded, find_problems, load, user_file
from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.whole_file import whole_file

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer(help="Show, check and write the configuration.", rich_markup_mode=None)


@app.command()
def show(ctx: typer.Context, config: ConfigFile = None, json: Json = False) -> None:
    """Show every setting and where its value is from."""
    context: AppContext = ctx.obj
    loaded = load(config=config, environ=context.environ)
    if json:
        write_json(context, "config", _document(loaded, context))
    else:
        write_tables(context, [_table(loaded)])


@app.command()
def check(ctx: typer.Context, config: ConfigFile = None, json: Json = False) -> None:
    """Find every mistake in the file and the environment.

    Exit code 5 when there is one.
    """
    context: AppContext = ctx.obj
    file, problems = find_problems(config=config, environ=context.environ)
    if not problems:
        problems = list(_refusals(context, config))
    if json:
        document = {
            "file": str(file) if file else None,
            "ok": not problems,
            "problems": problems,
        }
        write_json(context, "check", document)
    else:
        for sentence in problems or [f"{file or 'no configuration file'}: no problems"]:
            write_line(context, sentence)
    if problems:
        raise typer.Exit(ExitCode.PROBLEMS)


@app.command()
def init(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(help="Where to write it; the user's own file unless given."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file.")] = False,
) -> None:
    """Write a file that explains every setting.

    Settings in force that are not defaults are in force in it; the others are there as comments.
    """
    from pegaflow.config.write import as_toml

    context: AppContext = ctx.obj
    path = file or user_file(context.environ)
    if path is None:
        raise ConfigError("there is no home directory to write to; name a file")
    loaded = load(environ=context.environ)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, replace=force) as target:
            target.write(as_toml(loaded).encode(errors="surrogateescape"))
    except FileExistsError as error:
        raise PegaflowError(f"{path} exists; --force overwrites it") from error
    except OSError as error:
        raise PegaflowError(f"cannot write {path}: {error.strerror}") from error
    write_line(context, str(path))


def _refusals(context: AppContext, config: str | None) -> Iterator[str]:
    """What `serve` would refuse, though each setting by itself is allowed."""
    try:
        loaded = load(config=config, environ=context.environ)
        context.check(DaemonConfig.of(loaded).to_json())
    except ConfigError as error:
        yield str(error)


def _document(loaded: Loaded, context: AppContext) -> dict[str, object]:
    return {
        "file": str(loaded.file) if loaded.file else None,
        "settings": [
            {
                "key": key,
                "value": value.text,
                "source": value.source,
                "where": value.where or None,
                "default": value.setting.default_text(context.environ),
                "allowed": value.setting.kind.allowed,
                "help": value.setting.help,
            }
            for key, value in loaded.values.items()
        ],
    }


def _table(loaded: Loaded) -> "Table":
    settings = table("setting", "value", "from")
    for key, value in loaded.values.items():
        settings.add_row(key, value.text, value.where or value.source)
    return settings
