"""Makes a snapshot of a sample and the one that the window begins with."""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from pegaflow.models import Blocks, Status
from pegaflow.namespaces import namespaces
from pegaflow.observe import absent, demand
from pegaflow.observe.alerts import alerts
from pegaflow.observe.counters import Counters, Delta
from pegaflow.observe.sample import Sample
from pegaflow.observe.series import HISTOGRAMS
from pegaflow.observe.snapshot import (
    Daemon,
    Engine,
    Flow,
    Integrity,
    Latency,
    Leases,
    Namespace,
    Node,
    Operation,
    Queues,
    Snapshot,
    Tier,
    Window,
)
from pegaflow.observe.thresholds import DEFAULTS, Threshold
from pegaflow.tiers import parts

STALE_S: Final = 30.0
"""An engine whose workers have not all registered after this time is stale."""


def snapshot(
    sample: Sample,
    earlier: Sample | None = None,
    thresholds: Mapping[str, Threshold] = DEFAULTS,
) -> Snapshot:
    """What a sample shows: rates and quantiles since ``earlier``, or since the daemon's start."""
    status = sample.status
    delta = _counters(sample).since(None if earlier is None else _counters(earlier))
    found = Snapshot(
        host=sample.host,
        at=sample.at,
        window=Window(delta.seconds, earlier is None, delta.restarted),
        daemon=_daemon(status),
        blocks=status.blocks,
        window_blocks=Blocks(
            **{
                name: delta.count(f"blocks/{name}")
                for name in ("requested", "memory", "ssd", "remote", "miss")
            }
        ),
        tiers=tuple(_tiers(status)),
        nodes=tuple(Node(one.node, one.bytes) for one in status.pool.nodes),
        flows=tuple(_flows(status, delta)),
        latencies=tuple(_latencies(delta)),
        engines=tuple(_engines(status, delta)),
        namespaces=tuple(_namespaces(status, delta)),
        misses=demand.misses(status, delta),
        ceilings=tuple(demand.ceilings(status)),
        evictions=demand.evictions(status, delta),
        prefixes=tuple(demand.prefixes(status)),
        advice=demand.advice(status),
        leases=_leases(status, delta, thresholds),
        queues=_queues(status, delta),
        integrity=Integrity(
            corrupt_blocks=status.checksums.corrupt_blocks
            + (sum(path.corrupt_blocks for path in status.ssd.paths) if status.ssd else 0),
            verified_pages=status.checksums.verified_pages,
            scrubbed_pages=status.checksums.scrubbed_pages,
            pending_pages=status.checksums.pending_pages,
        ),
        operations=tuple(_operations(status)),
        shortages=status.ssd.shortages if status.ssd else (),
        alerts=(),
        absent=_absent(status),
    )
    return dataclasses.replace(found, alerts=tuple(alerts(found, thresholds)))


@lru_cache(maxsize=64)
def _counters(sample: Sample) -> Counters:
    return Counters.of(sample)


def _daemon(status: Status) -> Daemon:
    return Daemon(
        version=status.version,
        pid=status.pid,
        boot_id=status.boot_id,
        uptime_s=status.uptime_s,
        state=status.state,
        ready_percent=status.ready_percent,
        reasons=status.reasons,
        http_addr=status.http_addr,
        policy=status.pool.policy,
        pool_kind=status.pool.kind,
        pool_path=status.pool.path,
        gpus=len(status.gpus.devices),
        pinned_bytes=status.gpus.pinned_bytes,
    )


def _tiers(status: Status) -> Iterator[Tier]:
    ssd = status.ssd
    for part in parts(status):
        is_memory = part.tier == "memory"
        in_flight = ssd.writes.in_flight_bytes + ssd.fetches.in_flight_bytes if ssd else 0
        yield Tier(
            tier=part.tier,
            name=part.name,
            state=part.state,
            reason=part.reason,
            capacity_bytes=part.capacity_bytes,
            used_bytes=part.used_bytes,
            leased_bytes=status.leases.bytes if is_memory else 0,
            in_flight_bytes=in_flight if is_memory else 0,
            blocks=part.blocks,
            largest_free_bytes=status.pool.largest_free_bytes if is_memory else None,
        )


def _flows(status: Status, delta: Delta) -> Iterator[Flow]:
    for what, transfers in (("save", status.saves), ("load", status.loads)):
        yield Flow(
            name=what,
            bytes_per_s=delta.rate(f"{what}/bytes"),
            blocks_per_s=delta.rate(f"{what}/blocks"),
            transfers=delta.count(f"{what}/transfers"),
            failures=delta.count(f"{what}/failures"),
            in_flight=transfers.in_flight,
            total_bytes=transfers.bytes,
            tier_bytes_per_s=None,
        )
    if status.ssd is None:
        return
    paths, latest = status.ssd.paths, delta.histograms
    reads = ("ssd read", "ssd/read_bytes", "fetches/blocks", "ssd/read_errors")
    writes = ("ssd write", "ssd/written_bytes", "writes/blocks", "ssd/write_errors")
    totals = (
        (sum(path.read_bytes for path in paths), status.ssd.read_bytes_per_s),
        (sum(path.written_bytes for path in paths), status.ssd.write_bytes_per_s),
    )
    for (what, moved, blocks, errors), (total, most) in zip((reads, writes), totals, strict=True):
        yield Flow(
            name=what,
            bytes_per_s=delta.rate(moved),
            blocks_per_s=delta.rate(blocks),
            transfers=latest[what].count if what in latest else 0,
            failures=delta.count(errors),
            in_flight=0,
            total_bytes=total,
            tier_bytes_per_s=most or None,
        )


def _latencies(delta: Delta) -> Iterator[Latency]:
    for name in HISTOGRAMS:
        if histogram := delta.histograms.get(name):
            p50, p95, p99 = (histogram.quantile_s(share) for share in (0.5, 0.95, 0.99))
            yield Latency(name, histogram.count, p50, p95, p99)


def _engines(status: Status, delta: Delta) -> Iterator[Engine]:
    pages = {one.pid: one.page_bytes for gpu in status.gpus.devices for one in gpu.engines}
    for engine in status.engines:
        key = f"engine/{engine.key}"
        failures = (delta.count(f"{key}/{what}/failures") for what in ("saves", "loads"))
        own = [pages[pid] for pid in engine.worker_pids if pid in pages]
        yield Engine(
            engine_id=engine.engine_id,
            model=engine.model,
            namespace=engine.namespace,
            workers=engine.workers,
            registered_workers=len(engine.worker_pids),
            attached_s=engine.attached_s,
            stale=not engine.complete and engine.attached_s > STALE_S,
            page_bytes=sum(own) if own else None,
            last_call_s=engine.last_call_s,
            mapped_bytes=engine.mapped_bytes,
            saved_blocks=delta.count(f"{key}/saves/blocks"),
            loaded_blocks=delta.count(f"{key}/loads/blocks"),
            save_bytes_per_s=delta.rate(f"{key}/saves/bytes"),
            load_bytes_per_s=delta.rate(f"{key}/loads/bytes"),
            failures=sum(failures),
        )


def _namespaces(status: Status, delta: Delta) -> Iterator[Namespace]:
    for space in namespaces(status):
        key = f"namespace/{space.namespace}"
        hits, misses = delta.count(f"{key}/hits"), delta.count(f"{key}/misses")
        yield Namespace(
            namespace=space.namespace,
            model=space.model,
            blocks=space.blocks,
            bytes=space.bytes,
            ssd_blocks=space.ssd_blocks,
            ssd_bytes=space.ssd_bytes,
            requested=hits + misses,
            hit_share=hits / (hits + misses) if hits + misses else None,
            evictions=delta.count(f"{key}/evictions"),
            evictions_per_s=delta.rate(f"{key}/evictions"),
            pinned=space.pinned,
            quota_bytes=space.quota_bytes,
        )


def _leases(status: Status, delta: Delta, thresholds: Mapping[str, Threshold]) -> Leases:
    leases, pool = status.leases, status.pool
    return Leases(
        held=leases.held,
        blocks=leases.blocks,
        bytes=leases.bytes,
        oldest_s=leases.oldest_s,
        suspect=thresholds["lease-age"].level(leases.oldest_s) != "ok",
        pinned_blocks=pool.pinned_blocks,
        in_flight_pages=pool.in_flight_pages,
        partial_blocks=pool.partial_blocks,
        granted=delta.count("pegaflow_leases_granted_total"),
        ended=_by(delta, "pegaflow_leases_ended_total"),
    )


def _queues(status: Status, delta: Delta) -> Queues:
    ssd = status.ssd
    unfetched = ("no_room", "busy", "failed", "corrupt", "cancelled", "declined")
    written = _by(delta, "pegaflow_ssd_write_blocks_total")
    return Queues(
        write_blocks=ssd.writes.queued_blocks if ssd else 0,
        write_bytes=ssd.queued_write_bytes if ssd else 0,
        read_bytes=ssd.queued_read_bytes if ssd else 0,
        fetch_lookups=ssd.fetches.lookups if ssd else 0,
        fetch_bytes=ssd.fetches.queued_bytes if ssd else 0,
        no_space=delta.count("no_space"),
        unwritten={reason: count for reason, count in written.items() if reason != "written"},
        unfetched={reason: delta.count(f"fetches/{reason}_blocks") for reason in unfetched},
        write_budget_left_bytes=ssd.write_budget_left_bytes if ssd else None,
    )


def _operations(status: Status) -> Iterator[Operation]:
    for one in status.operations:
        done, expected = (
            (one.bytes, one.bytes_expected)
            if one.bytes_expected
            else (one.blocks, one.blocks_expected)
        )
        share = min(done / expected, 1.0) if expected else None
        yield Operation(one.operation, one.elapsed_s, share)
    warming = status.ssd.warming if status.ssd else None
    is_told = any(one.operation == "warm" for one in status.operations)
    if warming is not None and warming.state == "running" and not is_told:
        planned = warming.planned_bytes
        share = min(warming.fetched_bytes / planned, 1.0) if planned else None
        yield Operation("warming", warming.elapsed_s, share)


def _by(delta: Delta, counter: str) -> dict[str, int]:
    prefix = f"{counter}/"
    return {
        key.removeprefix(prefix): int(value)
        for key, value in delta.values.items()
        if key.startswith(prefix)
    }


def _absent(status: Status) -> dict[str, str]:
    sentences = {"peers": absent.PEERS, "remote": absent.REMOTE_TIER}
    if not status.pool.nodes:
        sentences["numa"] = absent.NUMA
    if status.ssd is None:
        sentences["ssd"] = absent.NO_SSD
    return sentences
