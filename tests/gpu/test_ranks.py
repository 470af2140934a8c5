"""Engines of two workers: what they cache is whole, and one copy where their bytes are equal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import fresh_hashes
from tests.fence.engine_memory import Shape
from tests.gpu.ranks import Ranks

BLOCKS: Final = list(range(8))
OTHERS: Final = list(range(8, 16))
MLA: Final = Shape(num_blocks=32, layers=8, segment_bytes=18 << 10)
"""A layer's part of a block of 16 tokens: 576 numbers of two bytes for each."""
LATER_MS: Final = 500

Start = Callable[..., Ranks]


@pytest.fixture
def start_ranks(daemon: DaemonProcess, environment: Mapping[str, str]) -> Iterator[Start]:
    """Starts an engine of two workers, on as many GPUs as there are for them."""
    wait_until(lambda: daemon.status()["gpus"]["state"] == "ready", "the GPUs are ready", 30)
    gpus = min(2, len(daemon.status()["gpus"]["devices"]))
    with ExitStack() as engines:

        def start(shards: int, namespace: bytes | None = None) -> Ranks:
            return engines.enter_context(
                Ranks(
                    daemon.socket,
                    MLA,
                    environment,
                    workers=2,
                    shards=shards,
                    gpus=gpus,
                    namespace=namespace,
                )
            )

        yield start


def _texts(hashes: list[bytes]) -> list[str]:
    return [hash.hex() for hash in hashes]


def test_a_block_of_two_shards_is_a_hit_once_both_ranks_have_saved_theirs(
    start_ranks: Start,
) -> None:
    engine, hashes = start_ranks(shards=2), fresh_hashes(len(BLOCKS))
    saved = [worker.ask("refill", blocks=BLOCKS) for worker in engine.workers]
    assert engine.workers[0].ask("save", hashes=_texts(hashes), blocks=BLOCKS)["ok"]
    assert engine.hit_count(hashes) == 0
    assert engine.workers[1].ask("save", hashes=_texts(hashes), blocks=BLOCKS)["ok"]
    assert engine.hit_count(hashes) == len(hashes)

    engine.load(hashes, OTHERS)
    assert [worker.ask("digests", blocks=OTHERS) for worker in engine.workers] == saved


def test_a_block_that_one_rank_did_not_save_is_no_hit_until_it_does(start_ranks: Start) -> None:
    engine, hashes = start_ranks(shards=2), fresh_hashes(len(BLOCKS))
    assert engine.workers[0].ask("save", hashes=_texts(hashes), blocks=BLOCKS)["ok"]
    failing = engine.workers[1]
    assert failing.ask("save_in_vain", hashes=_texts(hashes), blocks=BLOCKS, milliseconds=LATER_MS)
    # Behind it in the stream: what the first save would have sealed is sealed by now.
    assert failing.ask("save", hashes=_texts(fresh_hashes(1)), blocks=[0])["ok"]
    assert engine.hit_count(hashes) == 0

    assert failing.ask("save", hashes=_texts(hashes), blocks=BLOCKS)["ok"]
    assert engine.hit_count(hashes) == len(hashes)


def test_what_a_killed_rank_did_not_save_its_successor_saves(start_ranks: Start) -> None:
    first, hashes = start_ranks(shards=2), fresh_hashes(len(BLOCKS))
    saved = first.workers[0].ask("refill", blocks=BLOCKS)
    assert first.workers[0].ask("save", hashes=_texts(hashes), blocks=BLOCKS)["ok"]
    first.workers[1].ask(
        "begin_save_late", hashes=_texts(hashes), blocks=BLOCKS, milliseconds=100 * LATER_MS
    )
    first.workers[1].kill()

    # While the dead engine's memory is being released.
    second = start_ranks(shards=2, namespace=first.namespace)
    assert second.hit_count(hashes) == 0
    late = second.workers[1].ask("refill", blocks=BLOCKS)
    for worker in second.workers:
        assert worker.ask("save", hashes=_texts(hashes), blocks=BLOCKS)["ok"]
    assert second.hit_count(hashes) == len(hashes)
    second.load(hashes, OTHERS)
    found = [worker.ask("digests", blocks=OTHERS) for worker in second.workers]
    assert found == [saved, late]


def test_ranks_with_equal_bytes_keep_one_copy_that_each_saves_a_part_of(
    start_ranks: Start, daemon: DaemonProcess, tmp_path: Path
) -> None:
    engine, hashes = start_ranks(shards=1), fresh_hashes(len(BLOCKS))
    first, second = engine.workers
    saved, path = first.ask("refill", blocks=BLOCKS), str(tmp_path / "bytes")
    first.ask("copy_to", path=path, blocks=BLOCKS)
    assert second.ask("copy_from", path=path, blocks=BLOCKS) == saved

    moved = 0
    for rank, worker in enumerate(engine.workers):
        mine = _texts(hashes[rank::2])
        end = worker.ask("save", hashes=mine, blocks=BLOCKS[rank::2])
        assert end["ok"]
        moved += end["bytes"]
    assert engine.hit_count(hashes) == len(hashes)
    one_copy = len(BLOCKS) * MLA.block_bytes
    (namespace,) = daemon.status()["namespaces"]
    assert (moved, namespace["blocks"], namespace["bytes"]) == (one_copy, len(BLOCKS), one_copy)

    engine.load(hashes, OTHERS)
    assert [worker.ask("digests", blocks=OTHERS) for worker in engine.workers] == [saved, saved]
