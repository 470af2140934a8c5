"""The command line in this process, with the outside world replaced."""

import contextlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import jsonschema

from pegaflow.cli.app import run
from pegaflow.cli.context import AppContext
from pegaflow.client import Client
from pegaflow.doctor.machine import Machine
from pegaflow.doctor.this_machine import this_machine
from pegaflow.errors import PegaflowError, Unreachable
from pegaflow.models import Progress, Stopped
from pegaflow.operation import Operation
from tests.cli.documents import schema

HOME = {"HOME": "/nonexistent"}


class _Became(BaseException):
    """The process would be another program now."""


@dataclass(frozen=True)
class Program:
    """A program that the process would have become."""

    argv: list[str]
    environ: dict[str, str]


class StandInOperation(Operation):
    """An operation whose events a test gives; Ctrl-C comes where one of them is it."""

    def __init__(self, events: Iterable[Progress | str | BaseException]) -> None:
        self._events = iter(events)
        self.cancelled = False

    def next(self) -> Progress | str:
        event = next(self._events)
        if isinstance(event, BaseException):
            raise event
        return event

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(frozen=True)
class StandInDaemon(Client):
    """A daemon that answers with what a test gives it, or raises it."""

    status_answer: str | PegaflowError = field(
        default_factory=lambda: Unreachable("no daemon answers on the socket")
    )
    stop_answer: Stopped | PegaflowError = field(
        default_factory=lambda: Unreachable("no daemon answers on the socket")
    )
    purges: list[bool] = field(default_factory=list)
    left_bytes: int = 0
    """What an ended daemon left."""
    purged: list[str | None] = field(default_factory=list)
    results: Mapping[str, object] = field(default_factory=dict)
    """The result of an operation, or all its events, or what is raised, by its name."""
    operations: list[dict[str, Any]] = field(default_factory=list)
    begun: list[StandInOperation] = field(default_factory=list)

    def status_json(self) -> str:
        if isinstance(self.status_answer, PegaflowError):
            raise self.status_answer
        return self.status_answer

    def stop(self, *, purge: bool = False) -> Stopped:
        self.purges.append(purge)
        if isinstance(self.stop_answer, PegaflowError):
            raise self.stop_answer
        return self.stop_answer

    def operate(self, name: str, **fields: Any) -> Operation:
        request = {"operation": name, **fields}
        jsonschema.validate(request, schema("operation"))
        result = self.results.get(name, Unreachable("no daemon answers on the socket"))
        if isinstance(result, PegaflowError):
            raise result
        self.operations.append(request)
        events = result if isinstance(result, list) else [json.dumps(result)]
        self.begun.append(StandInOperation(events))
        return self.begun[-1]

    def purge(self, pool_dir: str | None) -> int:
        self.purged.append(pool_dir)
        return self.left_bytes


@dataclass(frozen=True)
class Outcome:
    """What a command left."""

    code: int | None
    """None when the process became ``program``."""
    out: str
    err: str
    program: Program | None

    def json(self, name: str) -> dict[str, Any]:
        """The one JSON line of the output, which fits the schema ``name``."""
        assert self.out.count("\n") == 1
        document: dict[str, Any] = json.loads(self.out)
        jsonschema.validate(document, schema(name))
        return document


def _never_served(config_json: str, ready: Callable[[str], None], successor: Sequence[str]) -> None:
    raise AssertionError("no daemon was to be run")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass
class CommandLine:
    """Runs commands; ``sockets`` are those that they connected to."""

    environ: dict[str, str] = field(default_factory=lambda: dict(HOME))
    daemon: StandInDaemon = field(default_factory=lambda: StandInDaemon("/unused"))
    serve: Callable[[str, Callable[[str], None], Sequence[str]], None] = _never_served
    sockets: list[tuple[str, float]] = field(default_factory=list)
    machine: Callable[[Mapping[str, str]], Machine] = this_machine
    is_terminal: bool = False
    """Whether results are written to a terminal."""

    def __call__(self, *args: str, typed: str | None = None) -> Outcome:
        """Run ``pegaflow`` with ``args``, and ``typed`` at a terminal if there is one."""
        out = Terminal() if self.is_terminal else io.StringIO()
        err, programs = io.StringIO(), list[Program]()

        def execute(argv: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
            programs.append(Program(list(argv), dict(environ)))
            raise _Became

        context = AppContext(
            stdin=io.StringIO() if typed is None else Terminal(typed),
            stdout=out,
            stderr=err,
            environ=self.environ,
            connect=self._connect,
            serve=self.serve,
            execute=execute,
            machine=self.machine,
        )
        code: int | None = None
        with contextlib.suppress(_Became):
            code = run(args, context)
        return Outcome(code, out.getvalue(), err.getvalue(), next(iter(programs), None))

    def _connect(self, socket: str, timeout_s: float) -> Client:
        self.sockets.append((socket, timeout_s))
        return self.daemon
