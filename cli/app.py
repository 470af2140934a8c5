"""All commands, and the one place where errors become exit codes."""

from collections.abc import Sequence
from typing import Annotated

import typer

from pegaflow.cli import (
    bench,
    config,
    doctor,
    engine,
    events,
    namespace,
    plan,
    restart,
    serve,
    status,
    stop,
    tier,
    top,
    trace,
    version,
    vllm,
    warm,
)
from pegaflow.cli.context import AppContext
from pegaflow.cli.examples import add_examples
from pegaflow.cli.exit_codes import ExitCode, exit_code_of
from pegaflow.cli.output import discard_results, note, unwritten
from pegaflow.distribution import refuse_strangers
from pegaflow.errors import PegaflowError

app = typer.Typer(
    name="pegaflow",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.command("stop")(stop.stop)
app.command("restart")(restart.restart)
app.command("status")(status.status)
app.command("top", help=top.HELP)(top.top)
app.command(
    "vllm",
    options_metavar="[OPTIONS] -- ARGS...",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(vllm.vllm)
app.command("warm")(warm.warm)
app.command("plan")(plan.plan)
app.add_typer(trace.app, name="trace")
app.add_typer(tier.app, name="tier")
app.add_typer(namespace.app, name="namespace")
app.add_typer(engine.app, name="engine")
app.add_typer(config.app, name="config")
app.add_typer(bench.app, name="bench")
app.command("doctor", help=doctor.HELP)(doctor.doctor)
app.command("events", help=events.HELP)(events.events)
app.command("version")(version.version)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Show the versions.")] = False,
) -> None:
    """PegaFlow keeps the KV cache of vLLM engines in a daemon of its own."""
    if show_version:
        version.version(ctx)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def run(args: Sequence[str], context: AppContext) -> int:
    """Run one command line; returns its exit code."""
    command = typer.main.get_command(app)
    add_examples(command)
    try:
        refuse_strangers()
        code = command.main(list(args), prog_name="pegaflow", standalone_mode=False, obj=context)
        context.stdout.flush()
        return code if isinstance(code, int) else ExitCode.OK
    except PegaflowError as error:
        note(context, str(error))
        return exit_code_of(error)
    except typer.TyperException as error:
        note(context, _usage(error))
        return ExitCode.USAGE
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Typer ends the process by itself for a broken pipe alone.
        discard_results()
        return ExitCode.OK
    except OSError as error:
        # Files have names: this is what Typer writes by itself, such as help.
        if error.filename is not None:
            raise
        discard_results()
        note(context, unwritten(error))
        return ExitCode.FAILED


def _usage(error: typer.TyperException) -> str:
    where = getattr(error, "ctx", None)
    path = where.command_path if where is not None else "pegaflow"
    text = _bad_value(error) or error.format_message().rstrip(".")
    remedy = restart.remedy(error) or f"`{path} --help` lists what is allowed"
    return f"{text[:1].lower()}{text[1:]}; {remedy}"


def _bad_value(error: typer.TyperException) -> str | None:
    """What is wrong with a number, with the value, which Typer leaves out."""
    found = getattr(error.__cause__, "errors", None)
    param = getattr(error, "param", None)
    if found is None or param is None:
        return None
    (mistake, *_) = found()
    allowed = mistake["msg"].partition(",")[0].removeprefix("Input should be ")
    return f"{param.opts[0]} {mistake['input']!r} cannot be used; allowed: {allowed}"
