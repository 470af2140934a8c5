"""A real daemon's memory tier filled by one engine."""

from typing import Final

from tests.cli.installed import Host
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes

_CHECKSUMS_S: Final = 60.0


def save_all(host: Host, engine: AttachedEngine) -> list[bytes]:
    """Save each block of the engine to a new daemon, until all have checksums; their hashes."""
    count = engine.memory.shape.num_blocks
    hashes = fresh_hashes(count)
    assert engine.save(hashes, range(count)).ok
    wait_until(
        lambda: host.status()["checksums"]["made_pages"] == count,
        "all pages have their checksums",
        _CHECKSUMS_S,
    )
    return hashes
