"""``pegaflow vllm``."""

import shlex
import sys
from typing import Annotated

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.detach import start_detached, warn
from pegaflow.cli.options import ConfigFile, Json, Socket
from pegaflow.cli.output import note, write_json, write_line
from pegaflow.cli.waiting import waiting
from pegaflow.config import load, resolve_socket
from pegaflow.engine_command import EngineCommand, plan, probe
from pegaflow.errors import PegaflowError, Unreachable

_CHECK_TIMEOUT_S = 2.0
_START_TIMEOUT_S = 30.0


def vllm(
    ctx: typer.Context,
    python: Annotated[
        str,
        typer.Option(
            "--python",
            metavar="PATH",
            help="The interpreter whose vLLM is started; this one's unless given.",
            show_default=False,
        ),
    ] = sys.executable,
    with_daemon: Annotated[
        bool,
        typer.Option("--with-daemon", help="Start a daemon first if none answers; it stays."),
    ] = False,
    print_only: Annotated[
        bool, typer.Option("--print", help="Only print the command that would be run.")
    ] = False,
    socket: Socket = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Start vLLM's OpenAI server with the connector in it.

    What follows `--` are the arguments of `vllm serve`: `pegaflow vllm -- MODEL --port 8000`.

    The server takes this process over, so that signals and exit code are vLLM's own. Without a
    daemon it serves too, without cache until one answers.
    """
    context: AppContext = ctx.obj
    address = resolve_socket(socket, config=config, environ=context.environ)
    command = plan(probe(python), ctx.args, socket=address, environ=context.environ)
    if print_only:
        _print(context, command, json)
        return
    for sentence in command.notes:
        note(context, sentence)
    _meet_daemon(context, command.socket, config, with_daemon)
    context.execute(command.argv, {**context.environ, **command.environment})


def _print(context: AppContext, command: EngineCommand, json: bool) -> None:
    if json:
        document = {
            "argv": command.argv,
            "environment": command.environment,
            "notes": command.notes,
        }
        write_json(context, "vllm", document)
        return
    for sentence in command.notes:
        note(context, sentence)
    variables = [f"{name}={shlex.quote(value)}" for name, value in command.environment.items()]
    write_line(context, " ".join([*variables, shlex.join(command.argv)]))


def _meet_daemon(context: AppContext, socket: str, config: str | None, may_start: bool) -> None:
    """Say which daemon there is, or start one; vLLM starts all the same."""
    try:
        status = context.connect(socket, _CHECK_TIMEOUT_S).status()
        note(context, f"the daemon at {socket} is {status.state} (pid {status.pid})")
    except PegaflowError as error:
        if not isinstance(error, Unreachable):
            note(context, f"{error}; vLLM serves without cache until a daemon answers there")
        elif may_start:
            _start_daemon(context, socket, config)
        else:
            note(
                context,
                f"no daemon answers on {socket}; vLLM serves without cache until one does: start "
                f"one with `pegaflow serve --detach --socket {shlex.quote(socket)}` or use "
                "--with-daemon",
            )


def _start_daemon(context: AppContext, socket: str, config: str | None) -> None:
    loaded = load({"socket": socket}, config=config, environ=context.environ)
    with waiting(context, "starting the daemon"):
        ready = start_detached(loaded, context.environ, _START_TIMEOUT_S).ready
    warn(context, ready)
    note(
        context,
        f"started a daemon at {ready.socket} (pid {ready.pid}); it stays when vLLM ends, "
        "`pegaflow stop` ends it",
    )
