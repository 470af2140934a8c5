"""Two minutes of ``make chaos``; its negative control is a test of the engine suite."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.chaos.run import Chaos
from tests.demo.report import Report
from tests.engine.vllm_install import VllmInstall

pytestmark = pytest.mark.engine

MINUTES = 2.0
SEED = 1


@pytest.mark.timeout(1800)
def test_kills_and_stops_cost_no_token_no_request_and_leave_nothing(tmp_path: Path) -> None:
    report = Report(Console(file=io.StringIO()))
    figures = Chaos(report, VllmInstall.chosen(), tmp_path, MINUTES, SEED).run()

    document = figures.document()
    print(*figures.lines(), json.dumps(document), sep="\n")
    assert document["problems"] == []
    assert (document["wrong"], document["failed"], document["leaked"]) == (0, 0, 0)
    assert document["engine_kills"] >= 1
    assert document["daemon_kills"] + document["daemon_stops"] >= 3
    assert document["answered"] > 0 < document["positions_above_noise"]
    assert document["loads"] > 0
