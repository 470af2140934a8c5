"""Ctrl-C at any time of a command, also before it does anything."""

import subprocess
import sys

import pytest

_SCRIPT = """
import os, signal, sys, time

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)

class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            {interrupt}

sys.meta_path.insert(0, Interrupting())
sys.argv = ["pegaflow", "status", "--socket", "/nonexistent/daemon.sock"]
from pegaflow.cli.main import main
main()
"""


def _interrupted(module: str, interrupt: str) -> tuple[int, str]:
    """The exit code of a command that is interrupted as it loads a module, and what it says."""
    script = _SCRIPT.format(module=module, interrupt=interrupt)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["pegaflow.cli.app", "typer", "pegaflow.client"])
def test_a_command_that_is_still_loaded_ends_quietly(module: str) -> None:
    assert _interrupted(module, "os.kill(os.getpid(), signal.SIGINT)") == (130, "")


def test_an_interrupt_in_a_finalizer_is_not_lost() -> None:
    assert _interrupted("pegaflow.client", "Finalized(); time.sleep(30)") == (130, "")
