"""When to write blocks to the ssd tier: blocks written, and later hits on them, for a trace.

``python -m tests.bench.write_policies TRACE.jsonl`` prints a table. The trace has a line a request
with ``timestamp`` (ms) and ``hash_ids``, one a block, each naming all tokens up to its end, as the
Mooncake traces have. The model: memory evicts the least recently used block, the disk the one that
was written first, a lookup ends at the first block that is in neither, and what it does not find is
computed and saved. The disk is as fast as it has to be, except for ``idle``.
"""

import argparse
import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

WHEN: Final = ("seal", "eviction", "idle")
ADMISSION: Final = ("all", "reused")


@dataclass(frozen=True)
class Request:
    """One request of a trace."""

    ms: int
    blocks: Sequence[int]


@dataclass
class Outcome:
    """What one policy did."""

    requested: int = 0
    memory_hits: int = 0
    ssd_hits: int = 0
    written: int = 0
    lost: int = 0
    """Blocks that only memory has at the end: a restart without memory loses them."""


class Tiers:
    """A memory of ``memory`` blocks over a disk of ``disk`` blocks, with one policy."""

    def __init__(self, when: str, admission: str, memory: int, disk: int) -> None:
        self.outcome = Outcome()
        self._when = when
        self._reused_only = admission == "reused"
        self._memory_blocks, self._disk_blocks = memory, disk
        self._memory: OrderedDict[int, bool] = OrderedDict()
        """By last use; whether the block was hit since it came."""
        self._disk: OrderedDict[int, None] = OrderedDict()
        self._waiting: OrderedDict[int, None] = OrderedDict()

    def serve(self, blocks: Sequence[int]) -> None:
        """One request's lookup, and the saves of what it did not find."""
        outcome = self.outcome
        outcome.requested += len(blocks)
        found = 0
        for block in blocks:
            if block in self._memory:
                outcome.memory_hits += 1
                self._use(block, hit=True)
            elif block in self._disk:
                outcome.ssd_hits += 1
                self._use(block, hit=True)
            else:
                break
            found += 1
        for block in blocks[found:]:
            self._use(block, hit=block in self._memory)

    def rest(self) -> None:
        """Nothing is asked for: what waits is written."""
        while self._waiting:
            block, _ = self._waiting.popitem(last=False)
            if block in self._memory:
                self._write(block)

    def end(self) -> Outcome:
        """The trace is over."""
        self.outcome.lost = sum(block not in self._disk for block in self._memory)
        return self.outcome

    def _use(self, block: int, *, hit: bool) -> None:
        self._memory[block] = hit or self._memory.get(block, False)
        self._memory.move_to_end(block)
        if hit or not self._reused_only:
            if self._when == "seal":
                self._write(block)
            elif self._when == "idle":
                self._waiting[block] = None
        while len(self._memory) > self._memory_blocks:
            evicted, was_hit = self._memory.popitem(last=False)
            if self._when == "eviction" and (was_hit or not self._reused_only):
                self._write(evicted)

    def _write(self, block: int) -> None:
        if block in self._disk:
            return
        self.outcome.written += 1
        self._disk[block] = None
        while len(self._disk) > self._disk_blocks:
            self._disk.popitem(last=False)


def simulate(
    requests: Iterable[Request], when: str, admission: str, memory: int, disk: int, idle_ms: int
) -> Outcome:
    """What a policy does with a trace; the disk is idle between requests ``idle_ms`` apart."""
    tiers = Tiers(when, admission, memory, disk)
    last_ms = 0
    for request in requests:
        if request.ms - last_ms >= idle_ms:
            tiers.rest()
        last_ms = request.ms
        tiers.serve(request.blocks)
    return tiers.end()


def read(path: Path) -> list[Request]:
    """The requests of a trace, in the order of their times."""
    with path.open(encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    requests = [Request(document["timestamp"], document["hash_ids"]) for document in documents]
    return sorted(requests, key=lambda request: request.ms)


def main() -> None:
    """Print a line a policy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--memory-blocks", type=int, default=3_500)
    parser.add_argument("--ssd-blocks", type=int, default=35_000)
    parser.add_argument("--idle-ms", type=int, default=1_000)
    options = parser.parse_args()
    requests = read(options.trace)
    print("when      admission  written  ssd hits  hits/write  memory hits  lost")
    for when in WHEN:
        for admission in ADMISSION:
            one = simulate(
                requests,
                when,
                admission,
                options.memory_blocks,
                options.ssd_blocks,
                options.idle_ms,
            )
            rate = one.ssd_hits / one.written if one.written else 0.0
            print(
                f"{when:9} {admission:9} {one.written:8} {one.ssd_hits:9} {rate:11.3f} "
                f"{one.memory_hits:12} {one.lost:5}"
            )


if __name__ == "__main__":
    main()
