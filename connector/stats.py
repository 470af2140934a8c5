"""What the connector reports to vLLM's own log and Prometheus metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pegaflow.connector.compat import KVConnectorPromMetrics, KVConnectorStats

if TYPE_CHECKING:
    from pegaflow._native import TransferEnd

_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_BLOCKS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)

_SERIES: Final[Mapping[str, tuple[str, Sequence[float]]]] = {
    "load_duration_seconds": (
        "Time from the order to load a request's blocks to its end",
        _SECONDS,
    ),
    "load_blocks": ("Blocks of one load", _BLOCKS),
    "save_duration_seconds": ("Time from the order to save blocks to its end", _SECONDS),
    "save_blocks": ("Blocks of one save", _BLOCKS),
}
_COUNTS: Final[Mapping[str, str]] = {
    "load_success": "Loads that brought all their blocks",
    "load_failure": "Loads that failed; vLLM computed their blocks",
    "save_success": "Saves that ended and were not revoked",
    "save_failure": "Saves that were revoked or failed",
    "lookups_given_up": "Requests that were scheduled without an answer of the cache",
}


@dataclass
class TransferStats(KVConnectorStats):
    """What happened in an interval, over all workers.

    ``data`` maps each series to a list with one number for each successful transfer, and each
    count to its number; what did not happen is absent.
    """

    def __getitem__(self, name: str) -> Any:
        """A field, as of a mapping: MultiConnector of older vLLM reads ``stats["data"]``."""
        return getattr(self, name)

    def ended(self, end: "TransferEnd") -> None:
        """Count the end of one transfer."""
        if not end.ok:
            self.count(f"{end.kind}_failure")
            return
        self.count(f"{end.kind}_success")
        self.data.setdefault(f"{end.kind}_duration_seconds", []).append(end.seconds)
        self.data.setdefault(f"{end.kind}_blocks", []).append(end.blocks)

    def count(self, name: str, times: int = 1) -> None:
        """Add to one of the counts."""
        self.data[name] = self.data.get(name, 0) + times

    def reset(self) -> None:
        """Forget all."""
        self.data.clear()

    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not self.data

    def aggregate(self, other: KVConnectorStats) -> "TransferStats":
        """Add what ``other`` has; vLLM expects the result to be this object."""
        for name, value in other.data.items():
            if isinstance(value, list):
                self.data.setdefault(name, []).extend(value)
            else:
                self.count(name, value)
        return self

    def reduce(self) -> dict[str, int | float]:
        """One line of vLLM's log: counts, and of each series the mean and the sum."""
        line: dict[str, int | float] = {}
        for name in _SERIES:
            values = self.data.get(name)
            if values:
                line[f"{name} (mean)"] = round(sum(values) / len(values), 6)
                line[f"{name} (sum)"] = round(sum(values), 6)
        for name in _COUNTS:
            if name in self.data:
                line[name] = self.data[name]
        return line


class TransferMetrics(KVConnectorPromMetrics):
    """The same numbers in vLLM's Prometheus registry, as ``vllm:pega_*``."""

    def __init__(
        self,
        vllm_config: Any,
        metric_types: Mapping[Any, Any],
        labelnames: Sequence[str],
        per_engine_labelvalues: Mapping[int, Sequence[object]],
    ) -> None:
        from prometheus_client import Counter, Histogram

        super().__init__(vllm_config, metric_types, labelnames, per_engine_labelvalues)
        self._series = {
            name: metric_types[Histogram](
                name=f"vllm:pega_{name}", documentation=text, buckets=buckets, labelnames=labelnames
            )
            for name, (text, buckets) in _SERIES.items()
        }
        self._counts = {
            name: metric_types[Counter](
                name=f"vllm:pega_{name}", documentation=text, labelnames=labelnames
            )
            for name, text in _COUNTS.items()
        }

    def observe(self, transfer_stats_data: Mapping[str, Any], engine_idx: int = 0) -> None:
        """Record an interval of one engine."""
        labels = self.per_engine_labelvalues[engine_idx]
        for name, value in transfer_stats_data.items():
            if name in self._series:
                series = self._series[name].labels(*labels)
                for one in value:
                    series.observe(one)
            elif name in self._counts:
                self._counts[name].labels(*labels).inc(value)
