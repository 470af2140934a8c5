"""The memory tier of a real daemon, and what namespaces have of it, changed while it serves."""

import pytest

from tests.cli.installed import Host
from tests.cli.test_operations import SHAPE, document, fill

ALL_BYTES = SHAPE.num_blocks * SHAPE.block_bytes


@pytest.fixture
def served(host: Host) -> Host:
    assert host.run("serve", "--detach").returncode == 0
    return host


def _namespace(host: Host) -> dict[str, object]:
    (one,) = document(host, "namespaces", "namespace", "list")["namespaces"]
    assert isinstance(one, dict)
    return one


def test_it_grows_and_shrinks_and_keeps_its_blocks(served: Host) -> None:
    with fill(served):
        for size, sizes in [("32MiB", (16 << 20, 32 << 20)), ("16MiB", (32 << 20, 16 << 20))]:
            resized = document(served, "operated", "tier", "resize", "memory", size, "--yes")
            assert (resized["before_bytes"], resized["size_bytes"]) == sizes
            assert resized["evicted_blocks"] == 0
            (part,) = document(served, "tiers", "tier", "list")["tiers"]
            assert (part["capacity_bytes"], part["blocks"]) == (sizes[1], SHAPE.num_blocks)
        assert document(served, "operated", "tier", "verify", "memory")["corrupt"] == 0


def test_a_size_that_it_cannot_have_is_refused(served: Host) -> None:
    for size in ("4096", "7EiB"):
        done = served.run("tier", "resize", "memory", size, "--yes")
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "--pool-size" not in done.stderr
    assert served.status()["pool"]["bytes"] == 16 << 20


def test_a_part_of_it_is_evicted(served: Host) -> None:
    with fill(served):
        evicted = document(served, "operated", "tier", "evict", "memory", "50%", "--yes")
        assert evicted["bytes"] >= ALL_BYTES // 2
        assert served.status()["pool"]["used_bytes"] == ALL_BYTES - evicted["bytes"]
        rest = document(served, "operated", "tier", "evict", "memory", "100%", "--yes")
        assert evicted["blocks"] + rest["blocks"] == SHAPE.num_blocks
        assert served.status()["pool"]["used_bytes"] == 0


def test_a_namespace_is_pinned_and_survives_the_eviction_of_all_else(served: Host) -> None:
    with fill(served) as engine:
        prefix = engine.namespace.hex()[:6]
        assert document(served, "operated", "namespace", "pin", prefix)["pinned"] is True
        assert _namespace(served)["pinned"] is True
        evicted = document(served, "operated", "tier", "evict", "memory", "100%", "--yes")
        assert (evicted["blocks"], evicted["kept_blocks"]) == (0, SHAPE.num_blocks)
        assert document(served, "operated", "namespace", "unpin", prefix)["pinned"] is False
        evicted = document(served, "operated", "tier", "evict", "memory", "100%", "--yes")
        assert evicted["blocks"] == SHAPE.num_blocks


def test_a_namespace_takes_no_more_than_its_quota(served: Host) -> None:
    with fill(served) as engine:
        prefix = engine.namespace.hex()[:6]
        limit = str(ALL_BYTES // 4)
        limited = document(served, "operated", "namespace", "quota", prefix, limit)
        assert limited["quota_bytes"] == ALL_BYTES // 4
        one = _namespace(served)
        assert (one["quota_bytes"], one["bytes"]) == (ALL_BYTES // 4, ALL_BYTES // 4)
        document(served, "operated", "namespace", "quota", prefix, "none")
        assert _namespace(served)["quota_bytes"] is None


def test_a_namespace_is_evicted_whole(served: Host) -> None:
    with fill(served) as engine:
        evicted = document(
            served, "operated", "namespace", "evict", engine.namespace.hex()[:6], "--yes"
        )
        assert (evicted["blocks"], evicted["bytes"]) == (SHAPE.num_blocks, ALL_BYTES)
        assert served.status()["pool"]["used_bytes"] == 0


def test_what_is_not_there_yet_is_pinned_by_its_whole_name(served: Host) -> None:
    name = "5e" * 32
    document(served, "operated", "namespace", "pin", name)
    one = _namespace(served)
    assert (one["namespace"], one["pinned"], one["blocks"]) == (name, True, 0)
