"""Copies wait for what the engine's stream was told before them."""

import hashlib
from collections.abc import Callable
from typing import Final

from tests.fence.attached_engine import fresh_hashes
from tests.gpu.conftest import SHAPE
from tests.gpu.gpu_engine import GpuEngine

BLOCKS: Final = range(8)
OTHERS: Final = range(8, 16)
LATER_MS: Final = 1_000
VALUE: Final = 7
FILLED: Final = hashlib.sha256(bytes([VALUE]) * SHAPE.block_bytes).hexdigest()


def test_what_one_engine_saved_another_loads(start_engine: Callable[..., GpuEngine]) -> None:
    first = start_engine()
    hashes, saved = fresh_hashes(len(BLOCKS)), first.refill(BLOCKS)
    first.save(hashes, BLOCKS)
    second = start_engine(first.namespace)
    second.refill(range(SHAPE.num_blocks))
    second.load(hashes, OTHERS)
    assert second.digests(OTHERS) == saved


def test_a_save_waits_for_the_step_that_computes_its_blocks(
    start_engine: Callable[..., GpuEngine],
) -> None:
    engine = start_engine()
    hashes = fresh_hashes(len(BLOCKS))
    engine.refill(BLOCKS)
    engine.fill_later(VALUE, LATER_MS)
    end = engine.wait_end(engine.start_save(hashes, BLOCKS, engine.mark()))
    assert end["ok"], end

    engine.load(hashes, OTHERS)
    assert engine.digests(OTHERS) == [FILLED] * len(OTHERS)


def test_a_save_waits_for_no_later_step(start_engine: Callable[..., GpuEngine]) -> None:
    engine = start_engine()
    hashes, before = fresh_hashes(len(BLOCKS)), engine.refill(BLOCKS)
    point = engine.mark()
    engine.fill_later(VALUE, 10 * LATER_MS)
    end = engine.wait_end(engine.start_save(hashes, BLOCKS, point))
    assert end["ok"], end
    assert end["seconds"] < 10 * LATER_MS / 1_000, "it waited for what came later"

    engine.load(hashes, OTHERS)
    assert engine.digests(OTHERS) == before


def test_a_load_waits_for_what_still_uses_its_blocks(
    start_engine: Callable[..., GpuEngine],
) -> None:
    engine = start_engine()
    hashes, saved = fresh_hashes(len(BLOCKS)), engine.refill(BLOCKS)
    engine.save(hashes, BLOCKS)
    engine.fill_later(VALUE, LATER_MS)
    engine.load(hashes, OTHERS)
    assert engine.digests(OTHERS) == saved
    assert engine.digests(BLOCKS) == [FILLED] * len(BLOCKS)
