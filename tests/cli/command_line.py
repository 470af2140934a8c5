"""The command line in this process, with the outside world replaced."""

import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import jsonschema

from pegaflow.cli.context import AppContext
from pegaflow.cli.main import run
from pegaflow.client import Client
from pegaflow.errors import PegaflowError, Unreachable
from pegaflow.models import Stopped
from tests.cli.documents import schema

HOME = {"HOME": "/nonexistent"}


class _Became(BaseException):
    """The process would be another program now."""


@dataclass(frozen=True)
class Program:
    """A program that the process would have become."""

    argv: list[str]
    environ: dict[str, str]


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

    def status_json(self) -> str:
        if isinstance(self.status_answer, PegaflowError):
            raise self.status_answer
        return self.status_answer

    def stop(self, *, purge: bool = False) -> Stopped:
        self.purges.append(purge)
        if isinstance(self.stop_answer, PegaflowError):
            raise self.stop_answer
        return self.stop_answer

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


def _never_served(config_json: str, ready: Callable[[str], None]) -> None:
    raise AssertionError("no daemon was to be run")


@dataclass
class CommandLine:
    """Runs commands; ``sockets`` are those that they connected to."""

    environ: dict[str, str] = field(default_factory=lambda: dict(HOME))
    daemon: StandInDaemon = field(default_factory=lambda: StandInDaemon("/unused"))
    serve: Callable[[str, Callable[[str], None]], None] = _never_served
    sockets: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, *args: str) -> Outcome:
        """Run ``pegaflow`` with ``args``."""
        out, err, programs = io.StringIO(), io.StringIO(), list[Program]()

        def execute(argv: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
            programs.append(Program(list(argv), dict(environ)))
            raise _Became

        context = AppContext(
            stdout=out,
            stderr=err,
            environ=self.environ,
            connect=self._connect,
            serve=self.serve,
            execute=execute,
        )
        code: int | None = None
        with contextlib.suppress(_Became):
            code = run(args, context)
        return Outcome(code, out.getvalue(), err.getvalue(), next(iter(programs), None))

    def _connect(self, socket: str, timeout_s: float) -> Client:
        self.sockets.append((socket, timeout_s))
        return self.daemon
