"""The memory tier of a real daemon, changed while it serves."""

import pytest

from tests.cli.installed import Host
from tests.cli.test_operations import SHAPE, document, fill


@pytest.fixture
def served(host: Host) -> Host:
    assert host.run("serve", "--detach").returncode == 0
    return host


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
    assert served.status()["pool"]["bytes"] == 16 << 20
