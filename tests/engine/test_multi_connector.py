"""PegaFlow as one of several connectors of one engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engine.daemon import DaemonProcess
from tests.engine.nothing_left import assert_nothing_left
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import MISSION_CONNECTOR, SteppedEngine
from tests.engine.vllm_install import VllmInstall

pytestmark = pytest.mark.engine


def multi(*connectors: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"connectors": list(connectors)},
    }


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "second"])
def test_both_connectors_serve_what_they_have(
    install: VllmInstall, model: Path, daemon: DaemonProcess, tmp_path: Path, order: tuple[int, int]
) -> None:
    example = {
        "kv_connector": "ExampleConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"shared_storage_path": str(tmp_path / "files")},
    }
    pair = (MISSION_CONNECTOR, example)
    connector = multi(*(pair[index] for index in order))
    prompts = [random_prompt(tokens) for tokens in (100, 200, 300)]
    with SteppedEngine(
        install, model, daemon.socket, tmp_path / "engine.log", connector=connector
    ) as engine:
        blocks = daemon.blocks()
        cold = [engine.generate(prompt) for prompt in prompts]
        assert daemon.blocks() == blocks + 3 + 6 + 9
        engine.reset()
        before = engine.hits()
        requests = [engine.add(prompt) for prompt in prompts]
        answers = engine.drain()

        assert engine.hits().since(before).external == 96 + 192 + 288
        for first, request in zip(cold, requests, strict=True):
            first.assert_same(answers[request])
        assert_nothing_left(engine, daemon)
