"""Bytes that changed in the pool behind the daemon's back never become tokens."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.engine.attaching import wait_attached
from tests.engine.daemon import DaemonProcess
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.pool_file import SealedPage, all_have_checksums, sealed_pages
from tests.engine.prompts import full_block_tokens, random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.vllm_install import VllmInstall
from tests.engine.waiting import wait_until

pytestmark = pytest.mark.engine

_PROMPT_TOKENS: Final = 5 * 32 + 3
_LIMIT_S: Final = 60.0


@pytest.fixture
def careful_daemon() -> Iterator[DaemonProcess]:
    """A daemon that compares every page that it loads."""
    with DaemonProcess("64MiB", ["--verify=always"]) as daemon:
        yield daemon


def flip_a_bit(pool: Path, page: SealedPage) -> None:
    at = page.offset + int.from_bytes(os.urandom(4)) % page.length
    with pool.open("r+b", buffering=0) as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_a_damaged_page_of_any_block_costs_no_token(
    install: VllmInstall, model: Path, careful_daemon: DaemonProcess, tmp_path: Path
) -> None:
    prompt = random_prompt(_PROMPT_TOKENS)
    with SteppedEngine(install, model, careful_daemon.socket, tmp_path / "engine.log") as engine:
        wait_attached(engine, careful_daemon, _LIMIT_S)
        cold = engine.generate(prompt)
        pool = Path(careful_daemon.status()["pool"]["path"])
        hashes = [page.block_hash for page in sealed_pages(pool)]
        assert len(hashes) == full_block_tokens(prompt) // 32
        for damaged, block_hash in enumerate(hashes, start=1):
            wait_until(lambda: all_have_checksums(pool), "all have checksums", _LIMIT_S)
            pages = {page.block_hash: page for page in sealed_pages(pool)}
            flip_a_bit(pool, pages[block_hash])

            engine.reset()
            cold.assert_same(engine.generate(prompt))
            assert careful_daemon.status()["checksums"]["corrupt_blocks"] == damaged

            engine.reset()
            before = engine.hits()
            cold.assert_same(engine.generate(prompt))
            loaded = engine.hits().since(before).external
            assert loaded == full_block_tokens(prompt), "what was computed anew is saved again"
        assert_nothing_left(engine, careful_daemon)
