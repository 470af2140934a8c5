"""Documents as daemons send them, and the schemas that they fit."""

import json
from pathlib import Path
from typing import Any

import jsonschema

import pegaflow

SCHEMAS = Path(pegaflow.__file__).parent / "schemas"


def schema(name: str) -> dict[str, Any]:
    """The schema of the document ``name``."""
    parsed: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_bytes())
    return parsed


def operated(operation: str, **fields: Any) -> dict[str, Any]:
    """The result of an operation, which fits its schema."""
    document = {
        "schema": "pegaflow.operated/1",
        "operation": operation,
        "cancelled": False,
        "seconds": 2.0,
    } | fields
    jsonschema.validate(document, schema("operated"))
    return document


def warmed(**changes: Any) -> dict[str, Any]:
    """The result of a warming that loaded 100 blocks of 1 MiB, with ``changes``."""
    fields = {
        "dry_run": False,
        "planned_blocks": 100,
        "planned_bytes": 100 << 20,
        "limited": False,
        "blocks": 100,
        "bytes": 100 << 20,
        "present_blocks": 0,
        "passed_blocks": 0,
        "no_room_blocks": 0,
        "failed_blocks": 0,
    }
    return operated("warm", **(fields | changes))


def ssd_path(path: str, **changes: Any) -> dict[str, Any]:
    """One path of the ssd tier in a daemon's status."""
    return {
        "path": path,
        "state": "online",
        "reason": None,
        "engine": "io_uring",
        "direct": True,
        "capacity_bytes": 10 << 30,
        "used_bytes": 1 << 30,
        "blocks": 512,
        "bytes": 512 << 20,
        "written_bytes": 2 << 30,
        "read_bytes": 1 << 30,
        "evicted_blocks": 3,
        "corrupt_blocks": 0,
        "read_errors": 0,
        "write_errors": 0,
        "recovered_blocks": 500,
        "recovery_s": 0.25,
    } | changes


def status_document(**changes: Any) -> dict[str, Any]:
    """A daemon's status, with ``changes`` of its fields."""
    transfers = {
        "transfers": 12,
        "failures": 1,
        "blocks": 96,
        "bytes": 100663296,
        "in_flight": 2,
        "p50_ms": 1.25,
        "p95_ms": 3.0,
        "p99_ms": 4.5,
    }
    unused = {"failures": 0, "in_flight": 0, "p50_ms": None, "p95_ms": None, "p99_ms": None}
    return {
        "schema": "pegaflow.status/1",
        "version": "0.1.0",
        "pid": 4321,
        "boot_id": "00112233445566aa",
        "started_at": 1700000000.5,
        "uptime_s": 3725.5,
        "state": "ready",
        "ready_percent": 100.0,
        "reasons": [],
        "socket": "/run/pegaflow/daemon.sock",
        "http_addr": "127.0.0.1:9091",
        "supervised": False,
        "self_tests": [{"copy_path": "host", "bytes": 1 << 20, "duration_s": 0.002, "error": None}],
        "last_event": 7,
        "pool": {
            "kind": "tmpfs",
            "path": "/dev/shm/pegaflow/pool",
            "bytes": 1073741824,
            "is_resized": False,
            "ready_bytes": 1073741824,
            "used_bytes": 100663296,
            "largest_free_bytes": 805306368,
            "policy": "lru",
            "in_flight_pages": 1,
            "partial_blocks": 0,
            "pinned_blocks": 16,
            "no_space": 0,
            "fallback": None,
            "nodes": [{"node": 0, "bytes": 1073741824}],
        },
        "gpus": {
            "state": "ready",
            "reason": None,
            "pinned_bytes": 1073741824,
            "devices": [
                {
                    "uuid": "GPU-1d2c3b4a-5968-7786-95a4-b3c2d1e0ff0e",
                    "name": "NVIDIA H200",
                    "own_bytes": 545259520,
                    "is_shared_by_mps": False,
                    "engines": [
                        {
                            "pid": 102,
                            "runs": 32,
                            "page_bytes": 2097152,
                            "copy_strategy": "batch",
                            "batch_bytes_s": 5e10,
                            "plain_bytes_s": None,
                            "ring": {"bytes": 67108864, "bytes_s": 5.1e10},
                        }
                    ],
                }
            ],
        },
        "taken_over": {
            "blocks": 64,
            "bytes": 67108864,
            "unsealed_pages": 2,
            "pages_without_checksum": 1,
            "bad_records": 0,
            "incomplete_pages": 0,
            "duration_s": 0.125,
        },
        "what_if": {
            "policy": "density",
            "seen_blocks": 1000,
            "sampled_blocks": 100,
            "points": [
                {"pool_bytes": 1 << 29, "hit_percent": 20.0, "is_rough": True},
                {"pool_bytes": 1 << 30, "hit_percent": 30.25, "is_rough": False},
                {"pool_bytes": 2 << 30, "hit_percent": 34.5, "is_rough": False},
            ],
            "suggested_pool_bytes": 2 << 30,
        },
        "recording": {
            "directory": "/var/lib/pegaflow/lookups",
            "lookups": 12_000,
            "left_out": 3,
            "bytes": 64 << 20,
            "size_bytes": 1 << 30,
            "error": None,
            "shortage": None,
        },
        "checksums": {
            "pending_pages": 3,
            "made_pages": 96,
            "verified_pages": 16,
            "verified_bytes": 16777216,
            "verify_s": 0.001,
            "scrubbed_pages": 1024,
            "scrub_rounds": 4,
            "corrupt_blocks": 0,
        },
        "blocks": {"requested": 1000, "memory": 750, "ssd": 0, "remote": 0, "miss": 250},
        "demand": {
            "missed": [{"reason": "new", "blocks": 200}, {"reason": "room", "blocks": 50}],
            "ghost_hits": [{"pool_times": 2.0, "blocks": 30}],
            "evicted": [{"reason": "room", "never_found_blocks": 40, "found_blocks": 20}],
            "ceilings": [
                {
                    "window_s": 3600,
                    "requested_blocks": 1000,
                    "distinct_blocks": 200,
                    "hit_percent": 80.0,
                }
            ],
        },
        "hot_prefixes": [],
        "restore": {"recompute_block_s": 0.004, "memory_block_s": 0.0001, "ssd_block_s": None},
        "saves": transfers,
        "loads": transfers | unused,
        "leases": {"held": 1, "blocks": 16, "bytes": 16777216, "oldest_s": 0.5},
        "operations": [
            {
                "operation": "warm",
                "elapsed_s": 7.5,
                "blocks": 100,
                "bytes": 104857600,
                "blocks_expected": 400,
                "bytes_expected": 419430400,
            }
        ],
        "engines": [
            {
                "engine_id": "engine-a",
                "model": "some/model",
                "namespace": "ab" * 32,
                "complete": True,
                "scheduler_pid": 100,
                "worker_pids": [101, 102],
                "workers": 2,
                "attached_s": 61.0,
                "last_call_s": 0.25,
                "mapped_bytes": 1 << 30,
                "saves": {"transfers": 12, "failures": 1, "blocks": 96, "bytes": 100663296},
                "loads": {"transfers": 12, "failures": 0, "blocks": 96, "bytes": 100663296},
            }
        ],
        "namespaces": [
            {
                "namespace": "ab" * 32,
                "group": 0,
                "blocks": 96,
                "bytes": 100663296,
                "hits": 750,
                "misses": 250,
                "admissions": 96,
                "evictions": 0,
                "ssd_blocks": 0,
                "ssd_bytes": 0,
                "pinned": False,
                "quota_bytes": None,
            }
        ],
        "ssd": {
            "paths": [ssd_path("/mnt/nvme0/pegaflow")],
            "shortages": ['"/mnt/nvme0/pegaflow" may take more than there is'],
            "blocks": 512,
            "bytes": 512 << 20,
            "queued_write_bytes": 4 << 20,
            "queued_read_bytes": 0,
            "read_bytes_per_s": 2e9,
            "write_bytes_per_s": 1e9,
            "write_budget_bytes": None,
            "write_budget_left_bytes": None,
            "writes": {
                "queued_blocks": 4,
                "in_flight_bytes": 4 << 20,
                "blocks": 600,
                "bytes": 600 << 20,
                "evicted_blocks": 1,
                "failed_blocks": 0,
            },
            "fetches": {
                "lookups": 1,
                "queued_bytes": 2 << 20,
                "in_flight_bytes": 1 << 20,
                "blocks": 300,
                "bytes": 300 << 20,
                "no_room_blocks": 2,
                "busy_blocks": 0,
                "failed_blocks": 0,
                "corrupt_blocks": 0,
                "cancelled_blocks": 5,
                "declined_blocks": 0,
            },
            "warming": {
                "state": "running",
                "planned_blocks": 400,
                "planned_bytes": 400 << 20,
                "fetched_blocks": 100,
                "fetched_bytes": 100 << 20,
                "elapsed_s": 2.5,
            },
        },
        "config": {
            "socket": "/run/pegaflow/daemon.sock",
            "socket_group": None,
            "http_addr": None,
            "pool_bytes": 1073741824,
            "pool_size_origin": "--pool-size",
            "pool_dir": None,
            "eviction_policy": "lru",
            "verify": "first",
            "scrub_period_s": 86400.0,
            "http_token_file": None,
            "ssd": [{"path": "/mnt/nvme0/pegaflow", "capacity_bytes": 10 << 30}],
            "ssd_engine": "auto",
            "ssd_admission": "all",
            "ssd_write_budget_bytes": None,
            "ssd_fetch_bytes": 256 << 20,
            "min_benefit": 1.0,
            "warm_on_start": False,
            "record_dir": None,
            "record_bytes": 1 << 30,
            "otlp_endpoint": None,
            "lease_ttl_s": 600.0,
            "copy_threads": 2,
            "copy_strategy": "auto",
            "max_rate_bytes_s": None,
            "drain_timeout_s": 10.0,
            "log_level": "info",
            "log_format": "text",
            "log_file": None,
            "pid_file": None,
        },
    } | changes
