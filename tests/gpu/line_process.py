"""A process that does what lines of JSON on its standard input say, as a test has it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.engine.closing import Closing
from tests.engine.waiting import wait_until

ROOT: Final = Path(__file__).parents[2]


class LineProcess(Closing):
    """A module of the tests, run by this interpreter; killed when closed."""

    def __init__(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=os.environ | dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self._read() == "ready\n", "the engine did not start"

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self._process.kill()
        wait_until(lambda: self._process.poll() is not None, "the engine's process ends", 30)

    def close(self) -> None:
        """Kill it if it lives."""
        self.kill()
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    def ask(self, name: str, **arguments: object) -> Any:
        """The answer to one line."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the engine's process has ended"
        return line


def serve(commands: object) -> None:
    """Answer lines with the methods that they name, until the standard input ends."""
    print("ready", flush=True)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(getattr(commands, name)(**arguments)), flush=True)
