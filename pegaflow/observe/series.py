"""The series of ``/metrics`` that a live view needs and the status document lacks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from pegaflow.observe.histogram import EMPTY, Histogram

HISTOGRAMS: Final[dict[str, str]] = {
    "lookup": "pegaflow_lookup_duration_seconds",
    "load": "pegaflow_load_duration_seconds",
    "save": "pegaflow_save_duration_seconds",
    "fetch": "pegaflow_fetch_duration_seconds",
    "ssd read": "pegaflow_ssd_read_duration_seconds",
    "ssd write": "pegaflow_ssd_write_duration_seconds",
}
"""What takes time, and the histogram of it."""

AGES: Final[dict[str, str]] = {
    "residence": "pegaflow_cache_residence_seconds",
    "idle": "pegaflow_cache_idle_seconds",
}
"""What is known of the ages of evicted blocks, and the histogram of it."""

COUNTERS: Final[Mapping[str, str]] = {
    "pegaflow_leases_granted_total": "",
    "pegaflow_leases_ended_total": "reason",
    "pegaflow_engine_sessions_ended_total": "reason",
    "pegaflow_save_blocks_total": "result",
    "pegaflow_load_blocks_total": "result",
    "pegaflow_ssd_write_blocks_total": "result",
    "pegaflow_ssd_kept_blocks_total": "",
    "pegaflow_inflight_gc_cleaned_total": "",
    "pegaflow_operations_total": "operation",
}
"""Counters by name, with the label that tells them apart; the other labels are summed."""

_KEPT: Final = (
    *HISTOGRAMS.values(),
    *AGES.values(),
    *(name.removesuffix("_total") for name in COUNTERS),
)


@dataclass(frozen=True)
class Series:
    """One exposition. ``text`` has nothing but what is needed, so that it is cheap to keep."""

    text: str = ""

    @classmethod
    def of(cls, exposition: str) -> "Series":
        """The series of all that a daemon shows."""
        return cls("\n".join(_kept_lines(exposition)))

    @cached_property
    def counters(self) -> dict[str, float]:
        """The counters, by name or ``name/label's value``."""
        plan, values = self._read
        found: dict[str, float] = {}
        for key, index in plan.counters:
            found[key] = found.get(key, 0.0) + values[index]
        return found

    @cached_property
    def histograms(self) -> dict[str, Histogram]:
        """The histograms by what they are of; paths of a tier are taken together."""
        plan, values = self._read
        found = {}
        for what in HISTOGRAMS | AGES:
            merged: Histogram | None = None
            for buckets in plan.histograms.get(what, ()):
                one = Histogram.of_cumulative((bound, values[index]) for bound, index in buckets)
                merged = one if merged is None else merged.plus(one)
            found[what] = merged or EMPTY
        return found

    @cached_property
    def _read(self) -> "tuple[_Plan, list[float]]":
        """The value of each line, and what the lines are."""
        parts = [
            line.rpartition(" ") for line in self.text.splitlines() if line[:1] not in ("", "#")
        ]
        return _plan(tuple(head for head, _, _ in parts)), [float(value) for *_, value in parts]


@dataclass(frozen=True)
class _Plan:
    """What lines are, by their indexes."""

    counters: tuple[tuple[str, int], ...]
    """Keys of counters."""
    histograms: Mapping[str, Sequence[Sequence[tuple[float, int]]]]
    """Buckets by what they are of, a sequence for each path: upper bounds."""


@lru_cache(maxsize=64)
def _plan(heads: tuple[str, ...]) -> _Plan:
    """What lines without their values are, which is the same from reading to reading."""
    kinds = {metric: what for what, metric in (HISTOGRAMS | AGES).items()}
    counters = list[tuple[str, int]]()
    histograms: dict[str, dict[str, list[tuple[float, int]]]] = {}
    for index, head in enumerate(heads):
        name, labels = _name_and_labels(head)
        if name in COUNTERS:
            label = COUNTERS[name]
            counters.append((f"{name}/{labels.get(label, '')}" if label else name, index))
        elif what := kinds.get(name.removesuffix("_bucket")):
            paths = histograms.setdefault(what, {})
            paths.setdefault(labels.get("path", ""), []).append((float(labels["le"]), index))
    return _Plan(tuple(counters), {what: [*paths.values()] for what, paths in histograms.items()})


@lru_cache(maxsize=4096)
def _name_and_labels(head: str) -> tuple[str, dict[str, str]]:
    """A line without its value."""
    from prometheus_client.parser import text_string_to_metric_families

    (family,) = text_string_to_metric_families(f"{head} 0\n")
    (sample,) = family.samples
    return sample.name, sample.labels


def _kept_lines(exposition: str) -> Iterator[str]:
    for line in exposition.splitlines():
        if line.startswith(_KEPT):
            name = line.partition(" ")[0].partition("{")[0]
            if not name.endswith(("_sum", "_count")):
                yield line
