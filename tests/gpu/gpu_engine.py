"""An ``engine_process`` as a test has it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, Final

from tests.engine.closing import Closing
from tests.engine.waiting import wait_until
from tests.fence.engine_memory import Shape

ROOT: Final = Path(__file__).parents[2]


class GpuEngine(Closing):
    """An engine attached to a daemon; killed when closed."""

    def __init__(
        self,
        socket: Path,
        shape: Shape,
        environment: Mapping[str, str],
        namespace: bytes | None = None,
    ) -> None:
        self.namespace = namespace or os.urandom(32)
        arguments = [str(socket), json.dumps(astuple(shape)), self.namespace.hex()]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.gpu.engine_process", *arguments],
            cwd=ROOT,
            env=os.environ | dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._read() == "ready\n", "the engine did not start"

    def refill(self, blocks: Sequence[int]) -> list[str]:
        """Put fresh bytes in blocks now; their digests."""
        return list(self._ask("refill", blocks=list(blocks)))

    def digests(self, blocks: Sequence[int]) -> list[str]:
        """Wait for the stream; the digests of what is in blocks then."""
        return list(self._ask("digests", blocks=list(blocks)))

    def fill_later(self, value: int, milliseconds: int) -> None:
        """Have the stream be busy, and then fill all blocks with one value."""
        self._ask("fill_later", value=value, milliseconds=milliseconds)

    def mark(self) -> int:
        """A point behind all that the stream was told so far."""
        return int(self._ask("mark"))

    def start_save(self, hashes: Sequence[bytes], blocks: Sequence[int], point: int) -> int:
        """Begin to save blocks once the stream has come to a point: the transfer."""
        names = [hash.hex() for hash in hashes]
        return int(self._ask("start_save", hashes=names, blocks=list(blocks), point=point))

    def start_load(self, hashes: Sequence[bytes], blocks: Sequence[int], point: int) -> int:
        """Begin to load blocks once the stream has come to a point: the transfer."""
        names = [hash.hex() for hash in hashes]
        return int(self._ask("start_load", hashes=names, blocks=list(blocks), point=point))

    def wait_end(self, transfer: int) -> dict[str, Any]:
        """Wait for a transfer: ok, seconds and message of its end."""
        end: dict[str, Any] = self._ask("wait_end", transfer=transfer)
        return end

    def save(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> None:
        """Save what blocks have when the stream has ended what it has."""
        end = self.wait_end(self.start_save(hashes, blocks, self.mark()))
        assert end["ok"], end

    def load(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> None:
        """Load into blocks when the stream has ended what it has."""
        end = self.wait_end(self.start_load(hashes, blocks, self.mark()))
        assert end["ok"], end

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

    def _ask(self, name: str, **arguments: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the engine's process has ended"
        return line
