"""What a replay measured."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pegaflow.errors import PegaflowError

_PERCENTILES: Final = (50, 95, 99)
_GB: Final = 10**9


@dataclass
class Tally:
    """What one engine counted; times are in milliseconds."""

    requests: int = 0
    cut_requests: int = 0
    requested: int = 0
    memory: int = 0
    ssd: int = 0
    remote: int = 0
    loaded_blocks: int = 0
    saved_blocks: int = 0
    wrong_blocks: int = 0
    unanswered: int = 0
    """Requests whose daemon ended meanwhile."""
    failures: list[str] = field(default_factory=list)
    lookup_ms: list[float] = field(default_factory=list)
    load_ms: list[float] = field(default_factory=list)
    save_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add what another engine counted."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True)
class Percentiles:
    """Of times in milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, times: Sequence[float]) -> "Percentiles":
        """The smallest times that so many percent of them do not exceed."""
        ordered = sorted(times) or [0.0]
        at = (max(math.ceil(part * len(ordered) / 100) - 1, 0) for part in _PERCENTILES)
        return cls(len(times), *(round(ordered[number], 3) for number in at))


@dataclass(frozen=True)
class ReplayReport:
    """The whole replay."""

    engines: int
    speed: float
    """Times the trace's own; 0 for no waiting."""
    block_bytes: int
    seconds: float
    tally: Tally
    ended: KeyboardInterrupt | PegaflowError | None
    """What ended it before the trace did."""

    @property
    def ended_early(self) -> str | None:
        """The same in words."""
        return None if self.ended is None else str(self.ended) or "interrupted"

    @property
    def is_right(self) -> bool:
        """Whether every loaded byte was the saved one."""
        return self.tally.wrong_blocks == 0

    def percent(self, blocks: int) -> float:
        """Of all blocks that were asked for."""
        return round(100 * blocks / max(self.tally.requested, 1), 2)

    def gb_s(self, blocks: int) -> float:
        """GB/s over the whole replay."""
        return round(blocks * self.block_bytes / max(self.seconds, 1e-9) / _GB, 3)

    def document(self) -> dict[str, Any]:
        """The ``trace-replay`` document."""
        tally = self.tally
        hits = tally.memory + tally.ssd + tally.remote
        return {
            "engines": self.engines,
            "speed": self.speed,
            "block_bytes": self.block_bytes,
            "seconds": round(self.seconds, 3),
            "requests": tally.requests,
            "requests_per_s": round(tally.requests / max(self.seconds, 1e-9), 3),
            "cut_requests": tally.cut_requests,
            "blocks": {
                "requested": tally.requested,
                "memory": tally.memory,
                "ssd": tally.ssd,
                "remote": tally.remote,
                "miss": tally.requested - hits,
            },
            "hit_percent": self.percent(hits),
            "loaded_bytes": tally.loaded_blocks * self.block_bytes,
            "saved_bytes": tally.saved_blocks * self.block_bytes,
            "load_gb_s": self.gb_s(tally.loaded_blocks),
            "save_gb_s": self.gb_s(tally.saved_blocks),
            "verified_blocks": tally.loaded_blocks,
            "wrong_blocks": tally.wrong_blocks,
            "failed_requests": len(tally.failures),
            "unanswered_requests": tally.unanswered,
            "ended_early": self.ended_early,
            "lookup_ms": asdict(Percentiles.of(tally.lookup_ms)),
            "load_ms": asdict(Percentiles.of(tally.load_ms)),
            "save_ms": asdict(Percentiles.of(tally.save_ms)),
            "late_ms": asdict(Percentiles.of(tally.late_ms)),
        }
