"""What the panels of ``pegaflow top`` show is in ``/metrics`` too."""

import re
from typing import Final

from pegaflow.client import Client
from pegaflow.tui.panels import PANELS
from tests.cli.conftest import host
from tests.cli.installed import Host

__all__ = ["host"]

_SERIES: Final = {
    "header": "build_info uptime_seconds state pool_ready_bytes pool_degraded",
    "tiers": "pool_used_bytes pool_capacity_bytes pool_largest_free_bytes lease_bytes "
    "inflight_pages ssd_used_bytes ssd_capacity_bytes ssd_path_state ssd_write_queue_pending "
    "ssd_write_inflight_bytes operations_running",
    "hits": "cache_blocks_requested_total cache_tier_block_requests_total "
    "cache_missed_blocks_total cache_ghost_hits_total cache_hit_ceiling_ratio",
    "throughput": "save_bytes_total load_bytes_total ssd_read_bytes_total ssd_write_bytes_total",
    "latency": "lookup_duration_seconds save_duration_seconds "
    "load_duration_seconds fetch_duration_seconds "
    "ssd_read_duration_seconds ssd_write_duration_seconds",
    "engines": "engines engine_attached_seconds engine_last_call_age_seconds "
    "engine_save_blocks_total engine_load_blocks_total engine_save_failures_total "
    "engine_load_failures_total engine_mapped_bytes registrations",
    "namespaces": "cache_resident_bytes cache_resident_blocks cache_block_hits_total "
    "cache_block_misses_total cache_block_evictions_total namespace_quota_bytes",
    "evictions": "cache_evicted_blocks_total cache_residence_seconds "
    "cache_idle_seconds cache_block_insertions_total ssd_evicted_blocks_total "
    "ssd_kept_blocks_total",
    "leases": "leases lease_blocks lease_oldest_age_seconds cache_pinned_blocks partial_blocks "
    "leases_granted_total leases_ended_total",
    "queues": "pool_alloc_failures_total fetch_queued_bytes fetch_lookups "
    "ssd_write_blocks_total fetch_blocks_total",
    "placement": "pool_node_bytes pool_ready_bytes",
    "events": "events_total corrupt_blocks_total",
    "advice": "restore_block_seconds suggested_pool_bytes what_if_hit_ratio",
}
"""By panel. Hot prefixes are in ``/v1/status`` alone: a series for each would have no bound."""

_WITHOUT: Final = {"prefixes", "peers"}


def test_each_row_of_a_panel_has_its_series(host: Host) -> None:
    host.serve("--ssd", f"{host.directory}/ssd=64MiB")
    text = Client(str(host.socket)).metrics()
    there = set(re.findall(r"^# TYPE pegaflow_(\w+) ", text, re.MULTILINE))
    missing = {panel: set(names.split()) - there for panel, names in _SERIES.items()}
    assert not any(missing.values()), missing


def test_every_panel_is_looked_at() -> None:
    names = {panel.NAME for panel in PANELS.values()}
    assert names == (_SERIES.keys() - {"header", "advice"}) | _WITHOUT
