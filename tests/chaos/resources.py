"""What daemon and engines hold, and how much more than when they had become warm."""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.place import EnginePlace
from tests.engine.daemon import DaemonProcess
from tests.engine.process_memory import anonymous_bytes

_MORE_DESCRIPTORS: Final = 6
"""Connections of HTTP clients come and go; a leak grows with every fault."""

_MORE_DAEMON_MIB: Final = 24
_MORE_ENGINE_MIB: Final = 96
"""Spare memory of allocators comes and goes: vLLM without any connector takes 50 MiB more."""

_WARM_REQUESTS: Final = 300
"""An allocator has not seen every kind of step before."""

_LOOK_AGAIN_S: Final = 0.5


def descriptors(pids: Iterable[int]) -> int:
    """Open files of all these processes."""
    return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids)


def memory_mib(pids: Iterable[int]) -> float:
    """Memory that all these processes have to themselves."""
    return sum(map(anonymous_bytes, pids)) / 2**20


@dataclass(frozen=True)
class Growth:
    """How much more of one thing is held."""

    what: str
    amount: float | None
    """None: there was nothing to compare with."""
    allowed: float

    def is_leak(self) -> bool:
        """Whether it is more than comes and goes."""
        return self.amount is not None and self.amount > self.allowed


class MemoryWatch:
    """Notes what each engine takes once it is warm; from then on it must not be killed."""

    def __init__(self, places: Sequence[EnginePlace], begin: float) -> None:
        self._places = places
        self._begin = begin
        self.warm: dict[int, float] = {}
        """MiB by the number of the place."""

    def run(self, over: threading.Event) -> None:
        """Look until the run is over, from ``begin`` on."""
        while not over.wait(_LOOK_AGAIN_S):
            for place in self._places:
                is_warm = place.is_serving() and place.requests >= _WARM_REQUESTS
                if is_warm and place.number not in self.warm and time.monotonic() > self._begin:
                    self.warm[place.number] = memory_mib(place.pids)


@dataclass(frozen=True)
class Baseline:
    """What is held after the warm-up, when all is quiet."""

    daemon_descriptors: int
    daemon_mib: float
    engine_descriptors: Mapping[int, int]

    @classmethod
    def of(cls, daemon: DaemonProcess, places: Sequence[EnginePlace]) -> "Baseline":
        """What is held now."""
        return cls(
            descriptors([daemon.pid]),
            memory_mib([daemon.pid]),
            {place.number: descriptors(place.pids) for place in places},
        )

    def growth(
        self, daemon: DaemonProcess, places: Sequence[EnginePlace], warm_mib: Mapping[int, float]
    ) -> list[Growth]:
        """How much more is held now; ``warm_mib`` is what each engine took when it was warm."""
        now = Baseline.of(daemon, places)
        more = now.daemon_descriptors - self.daemon_descriptors
        mib = round(now.daemon_mib - self.daemon_mib, 1)
        growth = [
            Growth("descriptors of the daemon", more, _MORE_DESCRIPTORS),
            Growth("MiB of the daemon", mib, _MORE_DAEMON_MIB),
        ]
        for place in places:
            name = f"engine {place.number}"
            more = now.engine_descriptors[place.number] - self.engine_descriptors[place.number]
            growth.append(Growth(f"descriptors of {name}", more, _MORE_DESCRIPTORS))
            warm = warm_mib.get(place.number)
            since = None if warm is None else round(memory_mib(place.pids) - warm, 1)
            growth.append(Growth(f"MiB of {name}", since, _MORE_ENGINE_MIB))
        return growth
