"""Whatever may take longer than two seconds says meanwhile that it goes on, or how far it is."""

import dataclasses
import inspect
import io
import threading
from functools import partial
from typing import Any, Final

import pytest

from pegaflow.cli import waiting
from pegaflow.cli.context import AppContext
from pegaflow.cli.waiting import waiting as told
from pegaflow.errors import PegaflowError
from pegaflow.models import Stopped
from tests.cli.command_line import CommandLine, StandInDaemon, Terminal
from tests.cli.test_examples import COMMANDS, ROOT
from tests.engine.waiting import wait_until

_OPERATION: Final = "operate("
_WAITING: Final = "waiting("
_READING: Final = "reading_progress("
_NOTES: Final = "note(context,"

SAYS: Final = {
    "serve": _WAITING,
    "stop": _WAITING,
    "restart": _WAITING,
    "status": "status_of_all(",  # status_fleet.py waits; of one daemon it ends with --timeout
    "doctor": "_told(",
    "vllm": _WAITING,
    "warm": _OPERATION,
    "plan": _READING,
    "trace info": _READING,
    "trace convert": _READING,
    "trace replay": _READING,
    "trace record": _OPERATION,
    "engine evict": _OPERATION,
    "namespace evict": _OPERATION,
    "namespace pin": "_operate(",
    "namespace unpin": "_operate(",
    "namespace quota": "_operate(",
    "tier add-path": _OPERATION,
    "tier remove-path": _OPERATION,
    "tier resize": _OPERATION,
    "tier flush": _OPERATION,
    "tier drain": _OPERATION,
    "tier evict": _OPERATION,
    "tier verify": _OPERATION,
    "bench transfer": _NOTES,
    "bench ttft": _NOTES,
    "bench restart": _NOTES,
    "bench sharing": _NOTES,
}
"""How a command says it, by what its module calls."""

AT_ONCE: Final = {
    "version",
    "config init",
    "config show",
    "config check",
    # One answer of the daemon, within --timeout.
    "engine list",
    "namespace list",
    "tier list",
    # What they show is itself what happens.
    "events",
    "top",
}


def _command(words: tuple[str, ...]) -> Any:
    found = ROOT
    for word in words:
        found = found.commands[word]
    return found


def test_every_command_is_quick_or_says_that_it_goes_on() -> None:
    names = {" ".join(words) for words in COMMANDS}
    assert names == SAYS.keys() | AT_ONCE
    assert not SAYS.keys() & AT_ONCE


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_slow_command_uses_what_says_it(words: tuple[str, ...]) -> None:
    callback = inspect.unwrap(_command(words).callback)
    source = inspect.getsource(inspect.getmodule(callback) or pytest)
    assert SAYS.get(" ".join(words), "") in source


@pytest.mark.parametrize(
    ("stream", "kind", "said"),
    [
        (io.StringIO(), "xterm", ["trying, for 10 ms by now", "trying, for 20 ms by now"]),
        (Terminal(), "xterm", ["trying"]),
        (Terminal(), "dumb", ["trying, for 10 ms by now", "trying, for 20 ms by now"]),
    ],
    ids=["piped", "terminal", "terminal without a cursor"],
)
def test_what_takes_long_is_told_meanwhile(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, kind: str, said: list[str]
) -> None:
    monkeypatch.setattr(waiting, "_LONG_S", 0.01)
    with told(_writing_to(stream, kind), "trying"):
        for text in said:
            wait_until(partial(_has, stream, text), f"{text!r} is told", 60.0)


def test_what_is_quick_says_nothing(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("/unused", stop_answer=Stopped(pid=7, pool_bytes_kept=0))
    assert pegaflow("stop").err == ""


def test_nothing_is_told_after_an_error() -> None:
    with pytest.raises(PegaflowError, match="so it is"), told(_writing_to(io.StringIO()), "trying"):
        raise PegaflowError("so it is")
    assert not [one for one in threading.enumerate() if "_tell" in one.name]


def _has(stream: io.StringIO, text: str) -> bool:
    return text in stream.getvalue()


def _writing_to(stream: io.StringIO, kind: str = "dumb") -> AppContext:
    return dataclasses.replace(AppContext(), stderr=stream, environ={"TERM": kind})
