"""A daemon's pool filled by one engine."""

from collections.abc import Sequence
from typing import Final

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes

_CHECKSUMS_S: Final = 300.0


def fill(daemon: DaemonProcess, engine: AttachedEngine, pages: int) -> Sequence[bytes]:
    """Save so many blocks of a page, until all have their checksums; their hashes."""
    hashes = fresh_hashes(pages)
    blocks = range(engine.memory.shape.num_blocks)
    engine.memory.refill(blocks)
    for start in range(0, pages, len(blocks)):
        batch = hashes[start : start + len(blocks)]
        assert engine.save(batch, blocks[: len(batch)]).ok
    assert daemon.blocks() == pages, "the pool is too small for this measurement"
    wait_until(
        lambda: daemon.status()["checksums"]["made_pages"] == pages,
        "all pages have their checksums",
        _CHECKSUMS_S,
    )
    return hashes
