"""The entry points: Ctrl-C ends a command quietly, also while Python still loads it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_INTERRUPTED: Final = 130
"""``ExitCode.INTERRUPTED``, before anything is loaded."""

_AGAIN_S: Final = 0.05
"""So long after a Ctrl-C that Python has swallowed it comes again."""


def main() -> NoReturn:
    """The command ``pegaflow``."""
    _command(sys.argv[1:])


def serve_alias() -> NoReturn:
    """The command ``pegaflow-server``, which is ``pegaflow serve``."""
    _command(["serve", *sys.argv[1:]])


def _command(args: Sequence[str]) -> NoReturn:
    _on_interrupt(_leave)
    sys.unraisablehook = _interrupt_again
    from pegaflow.cli.app import run
    from pegaflow.cli.context import AppContext

    try:
        _on_interrupt(signal.default_int_handler)
        code = run(args, AppContext())
        _on_interrupt(_leave)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        # A thread that waits in the native module must not come back to an interpreter that ends.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _on_interrupt(handler: Callable[..., Any]) -> None:
    """Have ``handler`` called at Ctrl-C, unless whoever started this process had it ignored."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def _leave(*_: object) -> NoReturn:
    os._exit(_INTERRUPTED)


def _interrupt_again(unraisable: "UnraisableHookArgs") -> None:
    """A Ctrl-C that came where Python can raise nothing, as in a finalizer, must not be lost."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()
