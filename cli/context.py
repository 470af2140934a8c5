"""All that commands reach outside of themselves; tests replace it whole."""

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from pegaflow.cli.escapes import ESCAPED

if TYPE_CHECKING:
    from pegaflow.client import Client
    from pegaflow.doctor.machine import Machine


def _connect(socket: str, timeout_s: float) -> "Client":
    from pegaflow.client import Client

    return Client(socket, timeout_s)


def _serve(config_json: str, ready: Callable[[str], None], successor: Sequence[str]) -> None:
    from pegaflow import _native
    from pegaflow.native import translated

    with translated():
        _native.serve(config_json, ready, successor)


def _check(config_json: str) -> None:
    from pegaflow import _native
    from pegaflow.native import translated

    with translated():
        _native.check(config_json)


def _machine(environ: Mapping[str, str]) -> "Machine":
    from pegaflow.doctor.this_machine import this_machine

    return this_machine(environ)


def _execute(argv: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    os.execvpe(argv[0], list(argv), dict(environ))


def _open(stream: TextIO | None, errors: str = ESCAPED) -> TextIO:
    """The stream, or one that takes all, for a process that was started without it.

    What its encoding does not have, as in names of files, is escaped.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)
    return stream or Path(os.devnull).open("r+", encoding="utf-8")


@dataclass(frozen=True)
class AppContext:
    """The streams, the environment and the operations of the outside world."""

    stdin: TextIO = field(default_factory=lambda: _open(sys.stdin, "surrogateescape"))
    """Where a confirmation is typed."""
    stdout: TextIO = field(default_factory=lambda: _open(sys.stdout))
    """Results, and nothing else."""
    stderr: TextIO = field(default_factory=lambda: _open(sys.stderr))
    """Messages."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    connect: Callable[[str, float], "Client"] = _connect
    """A client of the daemon at a socket, with a timeout in seconds."""
    serve: Callable[[str, Callable[[str], None], Sequence[str]], None] = _serve
    """``pegaflow._native.serve``."""
    check: Callable[[str], None] = _check
    """``pegaflow._native.check``."""
    machine: Callable[[Mapping[str, str]], "Machine"] = _machine
    """What ``pegaflow doctor`` looks at, for a process with an environment."""
    execute: Callable[[Sequence[str], Mapping[str, str]], NoReturn] = _execute
    """Becomes another program: its signals and its exit code are this process's."""
