"""The very first request of an engine is saved, and that of its successor is loaded."""

from pathlib import Path

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.hits import Hits
from tests.engine.prompts import full_block_tokens, random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.vllm_install import BLOCK_TOKENS, VllmInstall
from tests.engine.waiting import wait_until

pytestmark = pytest.mark.engine

SAVED_S = 5.0


def test_a_killed_engine_s_first_request_is_its_successor_s_first_hit(
    install: VllmInstall, model: Path, tmp_path: Path
) -> None:
    prompt = random_prompt(600)
    blocks = len(prompt) // BLOCK_TOKENS
    with DaemonProcess() as daemon:
        with SteppedEngine(install, model, daemon.socket, tmp_path / "first.log") as first:
            cold = first.generate(prompt)
            wait_until(lambda: daemon.blocks() == blocks, "the prompt is saved", SAVED_S)
            first.kill()
        with SteppedEngine(install, model, daemon.socket, tmp_path / "second.log") as second:
            warm = second.generate(prompt)
            assert second.hits() == Hits(local=0, external=full_block_tokens(prompt))
            cold.assert_same(warm)
