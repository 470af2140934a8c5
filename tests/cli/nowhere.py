"""Where command lines that a test makes up are run: nothing starts, nothing is measured."""

import contextlib
import importlib
import json
import re
import signal
import socket
import tempfile
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import pytest
import typer

from pegaflow.cli.app import app
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.client import Client
from pegaflow.errors import PegaflowError
from tests.cli.command_line import CommandLine, Outcome, StandInDaemon
from tests.cli.documents import ssd_path, status_document

_LIMIT_S: Final = 2.0
"""A command that lasts longer ends as at Ctrl-C."""


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", {})
    for name, one in below.items():
        yield from _commands(one, (*path, name))
    if not below:
        yield path, command


COMMANDS: Final = dict(_commands(typer.main.get_command(app)))
"""Every command by its words."""


class Nowhere(CommandLine):
    """Commands reach for the sockets that they are told, as users' do, or for a stand-in."""

    def with_a_daemon(self, *args: str) -> Outcome:
        """Run a command where a daemon tells its status, and does no operation.

        A request that the schema does not allow is an ``AssertionError`` of its kind.
        """
        ssd = status_document()["ssd"] | {"paths": [ssd_path("/mnt/a")]}
        daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document(ssd=ssd)))
        served = CommandLine(self.environ, daemon, self.serve, machine=self.machine)
        with _limit(_LIMIT_S):
            return served(*args)

    def without_a_daemon(self, *args: str) -> Outcome:
        """Run a command where no daemon is."""
        with _limit(_LIMIT_S):
            return self(*args)

    def _connect(self, socket: str, timeout_s: float) -> Client:
        return Client(socket, timeout_s)


@contextlib.contextmanager
def somewhere_else(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nowhere]:
    """A directory of its own, in which ``pegaflow`` can do no harm."""

    def not_here(*_: object, **__: object) -> NoReturn:
        raise PegaflowError("nothing is started in this test")

    def no_name(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "names are not looked up in this test")

    for command in ("serve", "restart", "vllm"):
        monkeypatch.setattr(f"pegaflow.cli.{command}.start_detached", not_here)
    monkeypatch.setattr("pegaflow.cli.serve.wait_for_end", not_here)
    for bench in ("transfer", "ttft", "restart", "sharing"):
        importlib.import_module(f"pegaflow.bench.{bench}")
        monkeypatch.setattr(f"pegaflow.bench.{bench}.measure", not_here)
    # What is large is loaded before the time of a command counts.
    for large in ("doctor.examination", "observe.source", "planning"):
        importlib.import_module(f"pegaflow.{large}")
    monkeypatch.setattr("pegaflow.doctor.examination.examine", not_here)
    monkeypatch.setattr(socket, "getaddrinfo", no_name)
    with tempfile.TemporaryDirectory(prefix="pega-") as directory:
        monkeypatch.chdir(directory)
        monkeypatch.setenv("HOME", directory)
        environ = {"HOME": directory, "PEGAFLOW_SOCKET": f"{directory}/daemon.sock"}
        yield Nowhere(environ, serve=not_here)


@contextlib.contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    # The time that the test itself has goes on afterwards.
    left = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)


def check_sentences(outcome: Outcome) -> None:
    """Every line of standard error is a sentence as ``pegaflow.errors`` has them."""
    assert outcome.code in [*ExitCode, None]
    lines = outcome.err.splitlines()
    if outcome.code in (ExitCode.FAILED, ExitCode.USAGE, ExitCode.UNREACHABLE, ExitCode.TIMEOUT):
        assert lines
    for line in lines:
        assert line.startswith("pegaflow: "), outcome.err
        sentence = line.removeprefix("pegaflow: ")
        assert not re.match("[A-Z][a-z]", sentence), sentence
        assert not sentence.endswith("."), sentence
        assert "Traceback" not in sentence
