"""What a daemon has counted since its start, and differences that survive its restarts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pegaflow.demand import Demand
from pegaflow.models import Ssd, Status
from pegaflow.observe.histogram import EMPTY, Histogram
from pegaflow.observe.sample import Sample


@dataclass(frozen=True)
class Delta:
    """What was counted in ``seconds`` of a daemon's life."""

    seconds: float
    restarted: bool
    """Whether the daemon began anew meanwhile: what the last one counted at its end is not here."""
    values: Mapping[str, float]
    histograms: Mapping[str, Histogram]

    def count(self, name: str) -> int:
        """How many; 0 for what the daemon does not count."""
        return int(self.values.get(name, 0))

    def rate(self, name: str) -> float:
        """How many a second."""
        return self.values.get(name, 0.0) / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Counters:
    """All counters of one sample."""

    boot_id: str
    uptime_s: float
    values: Mapping[str, float]
    histograms: Mapping[str, Histogram]

    @classmethod
    def of(cls, sample: Sample) -> "Counters":
        """The counters of a sample."""
        status = sample.status
        values = dict(_of_status(status)) | sample.series.counters
        return cls(status.boot_id, status.uptime_s, values, sample.series.histograms)

    def since(self, earlier: "Counters | None") -> Delta:
        """What was counted since ``earlier``, or since the daemon's start.

        A daemon of another boot id has counted all that it has since it began. A count that sank,
        as that of an ssd path that was taken away does, counts as none.
        """
        restarted = earlier is not None and self.restarted_since(earlier)
        if earlier is None or restarted:
            return Delta(self.uptime_s, restarted, self.values, self.histograms)
        before = earlier.values
        values = {
            name: max(value - before.get(name, 0.0), 0.0) for name, value in self.values.items()
        }
        histograms = {
            name: histogram.minus(earlier.histograms.get(name, EMPTY))
            for name, histogram in self.histograms.items()
        }
        return Delta(self.uptime_s - earlier.uptime_s, False, values, histograms)

    def restarted_since(self, earlier: "Counters") -> bool:
        """Whether this is another start of the daemon."""
        return self.boot_id != earlier.boot_id


def _of_status(status: Status) -> Iterator[tuple[str, float]]:
    blocks = status.blocks
    for name in ("requested", "memory", "ssd", "remote", "miss"):
        yield f"blocks/{name}", getattr(blocks, name)
    for what, transfers in (("save", status.saves), ("load", status.loads)):
        for name in ("transfers", "failures", "blocks", "bytes"):
            yield f"{what}/{name}", getattr(transfers, name)
    yield "no_space", status.pool.no_space
    yield "corrupt", status.checksums.corrupt_blocks
    yield "admissions", sum(space.admissions for space in status.namespaces)
    yield "evictions", sum(space.evictions for space in status.namespaces)
    spaces: dict[str, float] = {}
    for space in status.namespaces:
        for name in ("hits", "misses", "admissions", "evictions"):
            key = f"namespace/{space.namespace}/{name}"
            spaces[key] = spaces.get(key, 0) + getattr(space, name)
    yield from spaces.items()
    yield from _of_demand(status.demand)
    for engine in status.engines:
        for what, moved in (("saves", engine.saves), ("loads", engine.loads)):
            for name in ("transfers", "failures", "blocks", "bytes"):
                yield f"engine/{engine.key}/{what}/{name}", getattr(moved, name)
    if status.ssd is not None:
        yield from _of_ssd(status.ssd)


def _of_demand(demand: Demand) -> Iterator[tuple[str, float]]:
    for missed in demand.missed:
        yield f"missed/{missed.reason}", missed.blocks
    for ghost in demand.ghost_hits:
        yield f"ghost/{ghost.pool_times:g}", ghost.blocks
    for evicted in demand.evicted:
        yield f"evicted/{evicted.reason}", evicted.never_found_blocks + evicted.found_blocks
    yield "evicted-unfound", sum(evicted.never_found_blocks for evicted in demand.evicted)


def _of_ssd(ssd: Ssd) -> Iterator[tuple[str, float]]:
    sums = ("read_bytes", "written_bytes", "evicted_blocks", "corrupt_blocks")
    for name in (*sums, "read_errors", "write_errors"):
        yield f"ssd/{name}", sum(getattr(path, name) for path in ssd.paths)
    for name in ("blocks", "bytes", "evicted_blocks", "failed_blocks"):
        yield f"writes/{name}", getattr(ssd.writes, name)
    fetched = ("blocks", "bytes", "no_room_blocks", "busy_blocks", "failed_blocks")
    for name in (*fetched, "corrupt_blocks", "cancelled_blocks", "declined_blocks"):
        yield f"fetches/{name}", getattr(ssd.fetches, name)
