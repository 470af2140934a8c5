"""A daemon that is made up: for demonstrations without one, and for tests with a frozen clock."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from pegaflow import demand, models
from pegaflow.config import DaemonConfig
from pegaflow.gpu_models import Gpus
from pegaflow.observe.sample import Sample
from pegaflow.observe.series import AGES, HISTOGRAMS, Series
from pegaflow.version import VERSION

_GIB: Final = 1 << 30
_BLOCK: Final = 2 << 20
_BOUNDS_S: Final = (5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.5, 1.0)
_TYPICAL_S: Final = {
    "lookup": 2e-4,
    "fetch": 1e-2,
    "save": 4e-3,
    "load": 2e-3,
    "ssd read": 1e-3,
    "ssd write": 5e-3,
}


@dataclass(frozen=True)
class ScriptedSource:
    """A daemon whose every number follows from the seconds since ``began_at``."""

    host: str
    clock: Callable[[], float]
    began_at: float
    engines: int = 3
    namespaces: int = 4
    restart_after_s: float | None = None
    """When another daemon takes its place."""
    offline_after_s: float | None = None
    """When one path of its ssd tier fails."""

    def read(self) -> Sample:
        """The daemon now."""
        at = self.clock()
        seconds, boots = max(at - self.began_at, 0.0), 0
        if self.restart_after_s is not None and seconds >= self.restart_after_s:
            seconds, boots = seconds - self.restart_after_s, 1
        status = self._status(seconds, boots, at)
        document = {"schema": "pegaflow.status/1"} | asdict(status)
        return Sample(self.host, at, json.dumps(document), Series(_metrics(seconds)))

    def close(self) -> None:
        """Nothing is held."""

    def _status(self, seconds: float, boots: int, at: float) -> models.Status:
        failed = self.offline_after_s is not None and seconds >= self.offline_after_s
        reason = "reading /mnt/nvme1/pegaflow fails: I/O error" if failed else None
        spaces = tuple(_spaces(seconds, self.namespaces))
        return models.Status(
            version=VERSION,
            pid=4321 + boots,
            boot_id=f"{0x5EED0000 + boots:016x}",
            started_at=at - seconds,
            uptime_s=seconds + 60.0,
            state="degraded" if failed else "ready",
            ready_percent=100.0,
            reasons=(f"ssd path /mnt/nvme1/pegaflow is offline: {reason}",) if failed else (),
            socket="/run/pegaflow/daemon.sock",
            http_addr="127.0.0.1:9091",
            supervised=True,
            pool=_pool(seconds),
            gpus=Gpus("none", "this daemon is made up", 0, ()),
            taken_over=None,
            checksums=models.Checksums(3, int(900 * seconds), 640, 640 * _BLOCK, 0.1, 9000, 2, 0),
            blocks=_blocks(seconds),
            demand=_demand(seconds),
            hot_prefixes=tuple(_prefixes(seconds, spaces)),
            restore=demand.Restore(0.0042, 0.0003, 0.0011),
            what_if=demand.WhatIf("lru", 100_000, 8_000, (), 96 * _GIB),
            saves=_transfers(seconds, 40, 12),
            loads=_transfers(seconds, 60, 12),
            leases=models.Leases(6, 96, 96 * _BLOCK, 1.5 + seconds % 4),
            engines=tuple(self._engines(seconds, spaces)),
            namespaces=spaces,
            config=_CONFIG,
            ssd=_ssd(seconds, reason),
        )

    def _engines(
        self, seconds: float, spaces: Sequence[models.Namespace]
    ) -> Iterator[models.Engine]:
        for number in range(self.engines):
            complete = number % 7 != 6
            yield models.Engine(
                engine_id=f"{0xE0 + number:02x}" * 8,
                model=_MODELS[number % len(_MODELS)],
                namespace=spaces[number % len(spaces)].namespace,
                complete=complete,
                scheduler_pid=7000 + 10 * number,
                worker_pids=tuple(
                    7001 + 10 * number + rank for rank in range(2 if complete else 1)
                ),
                workers=2,
                attached_s=seconds + 40.0,
                last_call_s=0.2 * number,
                mapped_bytes=2 * 4096 * _BLOCK,
                saves=_moved(seconds, 40 / (number + 1), 0),
                loads=_moved(seconds, 60 / (number + 1), number // 8),
            )


_MODELS: Final = ("Qwen3-32B", "Llama-3.3-70B-Instruct", "gpt-oss-120b")
_CONFIG: Final = DaemonConfig(
    socket="/run/pegaflow/daemon.sock",
    socket_group=None,
    http_addr=None,
    pool_bytes=64 * _GIB,
    pool_size_origin="--pool-size",
    pool_dir=None,
    eviction_policy="lru",
    verify="first",
    scrub_period_s=86400.0,
    lease_ttl_s=600.0,
    copy_threads=2,
    copy_strategy="auto",
    max_rate_bytes_s=None,
    drain_timeout_s=10.0,
    log_level="info",
    log_format="text",
)


def _wave(seconds: float, per_s: float) -> int:
    """A count that grows by ``per_s`` a second, now more and now less, and never sinks."""
    return int(per_s * (60 + seconds + 4 * math.sin(seconds / 5)))


def _blocks(seconds: float) -> models.Blocks:
    memory, ssd, miss = _wave(seconds, 700), _wave(seconds + 7, 120), _wave(seconds + 3, 180)
    return models.Blocks(memory + ssd + miss, memory, ssd, 0, miss)


def _transfers(seconds: float, per_s: float, blocks: int) -> models.Transfers:
    done = _wave(seconds, per_s)
    return models.Transfers(done, 0, done * blocks, done * blocks * _BLOCK, 2, 2.0, 4.0, 8.0)


def _pool(seconds: float) -> models.Pool:
    used = min(int((40 + seconds / 10) * _GIB), 62 * _GIB)
    return models.Pool(
        kind="hugetlbfs",
        path="/dev/hugepages/pegaflow/pool",
        bytes=64 * _GIB,
        ready_bytes=64 * _GIB,
        used_bytes=used,
        policy="lru",
        in_flight_pages=4,
        partial_blocks=1,
        pinned_blocks=102,
        no_space=0,
        fallback=None,
        largest_free_bytes=max(56 * _GIB - used, 0),
        nodes=(models.PoolNode(0, 40 * _GIB), models.PoolNode(1, 24 * _GIB)),
    )


def _demand(seconds: float) -> demand.Demand:
    missed = _blocks(seconds).miss
    lost, behind, declined = missed // 3, missed // 50, 3
    reasons = {"new": missed - lost - behind - declined, "behind": behind, "declined": declined}
    evicted = _wave(seconds, 80)
    return demand.Demand(
        missed=tuple(demand.Missed(*one) for one in (reasons | {"room": lost}).items()),
        ghost_hits=tuple(
            demand.GhostHits(times, int(lost * share))
            for times, share in ((1.5, 0.3), (2.0, 0.5), (4.0, 0.9))
        ),
        evicted=(demand.Evicted("room", evicted // 4, evicted - evicted // 4),),
        ceilings=tuple(
            demand.Ceiling(window_s, 1000 * window_s, int(10 * window_s * (100 - percent)), percent)
            for window_s, percent in ((900, 86.0), (3600, 88.5), (86400, 90.25))
        ),
    )


def _prefixes(seconds: float, spaces: Sequence[models.Namespace]) -> Iterator[demand.HotPrefix]:
    for number in range(8):
        lookups = _wave(seconds, 50 / (number + 1))
        yield demand.HotPrefix(
            namespace=spaces[number % len(spaces)].namespace[:16],
            block_hash=f"{(number + 1) * 0x9E3779B97F4A7C15 % 2**64:016x}" * 2,
            blocks=4 ** (number % 4),
            lookups=lookups,
            overrated_lookups=0,
            found_lookups=lookups - lookups // (number + 5),
        )


def _moved(seconds: float, per_s: float, failures: int) -> models.EngineTransfers:
    done = _wave(seconds, per_s)
    return models.EngineTransfers(done, failures, done * 12, done * 12 * _BLOCK)


def _spaces(seconds: float, count: int) -> Iterator[models.Namespace]:
    for number in range(count):
        hits, misses = (_wave(seconds + number, 900 / (number + 2)) for _ in range(2))
        yield models.Namespace(
            namespace=f"{(number * 0x9E3779B97F4A7C15 + 0xC0FFEE) % 2**64:016x}" * 4,
            group=0,
            blocks=8000 // (number + 1),
            bytes=8000 // (number + 1) * _BLOCK,
            hits=hits,
            misses=misses // (number + 3),
            admissions=hits // 4,
            evictions=_wave(seconds, 40 / (number + 1)),
            ssd_blocks=40000 // (number + 1),
            ssd_bytes=40000 // (number + 1) * _BLOCK,
            pinned=number == 1,
            quota_bytes=8 * _GIB if number == 2 else None,
        )


def _ssd(seconds: float, reason: str | None) -> models.Ssd:
    written, fetched = _wave(seconds, 200), _wave(seconds, 110)

    def path(number: int, why: str | None) -> models.SsdPath:
        return models.SsdPath(
            path=f"/mnt/nvme{number}/pegaflow",
            state="online" if why is None else "offline",
            reason=why,
            engine="io_uring",
            direct=True,
            capacity_bytes=500 * _GIB,
            used_bytes=(310 - 60 * number) * _GIB,
            blocks=written,
            bytes=written * _BLOCK,
            written_bytes=written * _BLOCK,
            read_bytes=fetched * _BLOCK,
            evicted_blocks=_wave(seconds, 3),
            corrupt_blocks=0,
            read_errors=0,
            write_errors=0,
            recovered_blocks=0,
            recovery_s=0.0,
        )

    return models.Ssd(
        blocks=2 * written,
        bytes=2 * written * _BLOCK,
        queued_write_bytes=12 * _BLOCK,
        queued_read_bytes=3 * _BLOCK,
        read_bytes_per_s=6e9,
        write_bytes_per_s=3e9,
        write_budget_bytes=None,
        write_budget_left_bytes=None,
        writes=models.SsdWrites(18, 6 * _BLOCK, 2 * written, 2 * written * _BLOCK, 0, 0),
        fetches=models.SsdFetches(
            2, 5 * _BLOCK, 2 * _BLOCK, 2 * fetched, 2 * fetched * _BLOCK, 0, 0, 0, 0, 3, 0
        ),
        warming=None,
        paths=(path(0, None), path(1, reason)),
    )


def _metrics(seconds: float) -> str:
    lines = [line for name in HISTOGRAMS for line in _histogram(name, seconds)]
    lines += [line for name in AGES for line in _ages(name, seconds)]
    return "\n".join(lines) + (
        f"\npegaflow_leases_granted_total {_wave(seconds, 60)}"
        f'\npegaflow_leases_ended_total{{reason="loaded"}} {_wave(seconds, 58)}'
        f'\npegaflow_leases_ended_total{{reason="released"}} {_wave(seconds, 2)}'
        f'\npegaflow_ssd_write_blocks_total{{result="written"}} {2 * _wave(seconds, 200)}'
    )


def _histogram(name: str, seconds: float) -> Iterator[str]:
    """Most take about the typical time, a tenth ten times as long."""
    metric, typical = HISTOGRAMS[name], _TYPICAL_S[name]
    yield f"# TYPE {metric} histogram"
    count = _wave(seconds, 50)
    for bound in (*_BOUNDS_S, math.inf):
        share = 0.0 if bound < typical else 0.9 if bound < 10 * typical else 1.0
        below = count if math.isinf(bound) else int(count * share)
        yield f'{metric}_bucket{{le="{"+Inf" if math.isinf(bound) else bound}"}} {below}'


def _ages(name: str, seconds: float) -> Iterator[str]:
    """Most of what is evicted is some minutes old, some of it an hour."""
    yield f"# TYPE {AGES[name]} histogram"
    count, share = _wave(seconds, 80), {60.0: 0.1, 300.0: 0.6, 900.0: 0.9, 3600.0: 1.0}
    for bound, part in share.items():
        yield f'{AGES[name]}_bucket{{le="{bound}"}} {int(count * part)}'
    yield f'{AGES[name]}_bucket{{le="+Inf"}} {count}'
