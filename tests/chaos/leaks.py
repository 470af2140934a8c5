"""What is still held when all is quiet, and what is left when all has ended."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.place import EnginePlace
from tests.engine.daemon import DaemonProcess
from tests.engine.process_memory import anonymous_bytes
from tests.engine.waiting import DeadlinePassed, wait_until

_QUIET_S: Final = 45.0
_MORE_DESCRIPTORS: Final = 6
"""Connections of HTTP clients come and go; a leak grows with every fault."""

_MORE_MEMORY: Final[Mapping[str, int]] = {"daemon": 24 << 20, "engine": 96 << 20}
"""Bytes by which allocators' spare memory may differ between two processes of one kind."""


@dataclass(frozen=True)
class Held:
    """What a program holds, over all its processes."""

    descriptors: int
    memory_bytes: int


def held_by(pids: Sequence[int] | frozenset[int]) -> Held:
    """What these processes hold now."""
    return Held(
        sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids),
        sum(anonymous_bytes(pid) for pid in pids),
    )


@dataclass(frozen=True)
class Baseline:
    """What daemon and engines hold after the warm-up, when all is quiet."""

    daemon: Held
    engines: Mapping[int, Held]

    @classmethod
    def of(cls, daemon: DaemonProcess, places: Sequence[EnginePlace]) -> "Baseline":
        """What they hold now."""
        engines = {place.number: held_by(place.pids) for place in places}
        return cls(held_by([daemon.pid]), engines)

    def growth(self, daemon: DaemonProcess, places: Sequence[EnginePlace]) -> "Baseline":
        """What they hold more now."""
        now = Baseline.of(daemon, places)
        return Baseline(
            _difference(now.daemon, self.daemon),
            {
                number: _difference(now.engines[number], held)
                for number, held in self.engines.items()
            },
        )

    def named(self) -> Iterator[tuple[str, str, Held]]:
        """Each program's name, its kind, and what it holds."""
        yield "the daemon", "daemon", self.daemon
        for number, held in self.engines.items():
            yield f"engine {number}", "engine", held


def busy(daemon: DaemonProcess) -> dict[str, int]:
    """What the daemon, which answers, holds for requests."""
    status = daemon.status()
    held = {
        "leases": status["leases"]["held"],
        "leased blocks": status["leases"]["blocks"],
        "pinned blocks": status["pool"]["pinned_blocks"],
        "pages being filled": status["pool"]["in_flight_pages"],
        "partial blocks": status["pool"]["partial_blocks"],
        "saves under way": status["saves"]["in_flight"],
        "loads under way": status["loads"]["in_flight"],
    }
    return {name: count for name, count in held.items() if count}


def leaks_when_quiet(
    daemon: DaemonProcess, places: Sequence[EnginePlace], baseline: Baseline
) -> Iterator[str]:
    """A sentence for each thing that is held though no request is there."""
    for place in places:
        try:
            place.engine.reset()
        except DeadlinePassed:
            yield f"engine {place.number} holds blocks of its KV cache"
    if not becomes(lambda: not busy(daemon)):
        yield from (f"the daemon holds {count} {name}" for name, count in busy(daemon).items())
    grants = daemon.socket.with_suffix(".sock.grants")
    if not becomes(lambda: len(list(grants.iterdir())) == len(places)):
        yield f"{len(list(grants.iterdir()))} grant files for {len(places)} workers"
    pool = Path(daemon.status()["pool"]["path"])
    if files := {path.name for path in pool.parent.iterdir()} - {
        pool.name,
        pool.with_suffix(".slots").name,
    }:
        yield f"{len(files)} more files beside the pool: {sorted(files)}"
    if not becomes(lambda: not any(_too_much(baseline.growth(daemon, places)))):
        yield from _too_much(baseline.growth(daemon, places))


def left_files(directory: Path, besides: Path | None = None) -> Iterator[str]:
    """A sentence for each file that nobody needs any more."""
    for path in sorted(directory.iterdir()):
        if path != besides:
            yield f"{path.name} is left in {directory}"


def _difference(now: Held, before: Held) -> Held:
    return Held(now.descriptors - before.descriptors, now.memory_bytes - before.memory_bytes)


def _too_much(growth: Baseline) -> Iterator[str]:
    for name, kind, more in growth.named():
        if more.descriptors > _MORE_DESCRIPTORS:
            yield f"{name} has {more.descriptors} more descriptors than after the warm-up"
        if more.memory_bytes > _MORE_MEMORY[kind]:
            yield f"{name} has {more.memory_bytes >> 20} MiB more memory than after the warm-up"


def becomes(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` comes to hold, given time."""
    try:
        return wait_until(condition, "all is quiet", _QUIET_S)
    except DeadlinePassed:
        return False
