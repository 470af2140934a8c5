"""An ``engine_process`` as a test has it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.fence.engine_memory import Shape
from tests.gpu.line_process import LineProcess


class GpuEngine(LineProcess):
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
        super().__init__("tests.gpu.engine_process", arguments, environment)

    def refill(self, blocks: Sequence[int]) -> list[str]:
        """Put fresh bytes in blocks now; their digests."""
        return list(self.ask("refill", blocks=list(blocks)))

    def digests(self, blocks: Sequence[int]) -> list[str]:
        """Wait for the stream; the digests of what is in blocks then."""
        return list(self.ask("digests", blocks=list(blocks)))

    def fill_later(self, value: int, milliseconds: int) -> None:
        """Have the stream be busy, and then fill all blocks with one value."""
        self.ask("fill_later", value=value, milliseconds=milliseconds)

    def mark(self) -> int:
        """A point behind all that the stream was told so far."""
        return int(self.ask("mark"))

    def start_save(self, hashes: Sequence[bytes], blocks: Sequence[int], point: int) -> int:
        """Begin to save blocks once the stream has come to a point: the transfer."""
        names = [hash.hex() for hash in hashes]
        return int(self.ask("start_save", hashes=names, blocks=list(blocks), point=point))

    def start_load(self, hashes: Sequence[bytes], blocks: Sequence[int], point: int) -> int:
        """Begin to load blocks once the stream has come to a point: the transfer."""
        names = [hash.hex() for hash in hashes]
        return int(self.ask("start_load", hashes=names, blocks=list(blocks), point=point))

    def is_scattering(self) -> bool:
        """Whether a kernel of the engine spreads a load's bytes out of the ring, or waits to."""
        return bool(self.ask("is_scattering"))

    def wait_end(self, transfer: int) -> dict[str, Any]:
        """Wait for a transfer: ok, seconds and message of its end."""
        end: dict[str, Any] = self.ask("wait_end", transfer=transfer)
        return end

    def lease(self, hashes: Sequence[bytes]) -> int:
        """Look blocks up, which must all be cached: the lease."""
        return int(self.ask("lease", hashes=[hash.hex() for hash in hashes]))

    def start_leased_load(self, lease: int, blocks: Sequence[int], point: int) -> int:
        """Begin to load a lease once the stream has come to a point: the transfer."""
        return int(self.ask("start_leased_load", lease=lease, blocks=list(blocks), point=point))

    def hit_count(self, hashes: Sequence[bytes]) -> int:
        """Blocks that are cached, from the first on."""
        return int(self.ask("hit_count", hashes=[hash.hex() for hash in hashes]))

    def wait_attached(self) -> None:
        """Wait until the daemon knows the engine."""
        self.ask("wait_attached")

    def revoke(self, transfer: int) -> bool:
        """Take a transfer back: whether its blocks are free at once."""
        return bool(self.ask("revoke", transfer=transfer))

    def save(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> None:
        """Save what blocks have when the stream has ended what it has."""
        end = self.wait_end(self.start_save(hashes, blocks, self.mark()))
        assert end["ok"], end

    def load(self, hashes: Sequence[bytes], blocks: Sequence[int]) -> None:
        """Load into blocks when the stream has ended what it has."""
        end = self.wait_end(self.start_load(hashes, blocks, self.mark()))
        assert end["ok"], end
