"""Readings of several daemons at once, again and again."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pegaflow.errors import PegaflowError
from pegaflow.observe.fleet import Unanswered
from pegaflow.observe.history import History
from pegaflow.observe.sample import Sample
from pegaflow.observe.snapshot import Snapshot
from pegaflow.observe.source import Source
from pegaflow.observe.thresholds import Threshold


@dataclass(frozen=True)
class Reading:
    """All daemons at one moment."""

    at: float
    snapshots: tuple[Snapshot, ...]
    failures: Mapping[str, PegaflowError]
    """Why a daemon gave no sample, by host."""

    @property
    def unanswered(self) -> list[Unanswered]:
        """The failures as documents have them."""
        return [Unanswered(host, str(error)) for host, error in self.failures.items()]


def readings(
    sources: Sequence[Source],
    thresholds: Mapping[str, Threshold],
    interval_s: float,
    count: int | None,
) -> Iterator[Reading]:
    """A reading every ``interval_s`` seconds, ``count`` of them or without end."""
    histories = {source.host: History(thresholds) for source in sources}
    next_at, done = time.monotonic(), 0
    with ThreadPoolExecutor(max_workers=len(sources)) as pool:
        while count is None or done < count:
            time.sleep(max(next_at - time.monotonic(), 0.0))
            now = time.monotonic()
            # After one that took long, the next comes an interval later, not at once.
            next_at = next_at + interval_s if now < next_at + interval_s else now + interval_s
            found = list(pool.map(_read, sources))
            done += 1
            yield Reading(
                at=time.time(),
                snapshots=tuple(
                    histories[one.host].add(one) for one in found if isinstance(one, Sample)
                ),
                failures={
                    source.host: one
                    for source, one in zip(sources, found, strict=True)
                    if isinstance(one, PegaflowError)
                },
            )


def _read(source: Source) -> Sample | PegaflowError:
    try:
        return source.read()
    except PegaflowError as error:
        return error
