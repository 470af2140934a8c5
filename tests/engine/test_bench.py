"""``pegaflow bench`` with a real vLLM."""

import json
import subprocess
import sys
from typing import Any

import jsonschema
import pytest

from tests.cli.documents import schema
from tests.engine.vllm_install import VllmInstall

_BENCH = (sys.executable, "-m", "pegaflow", "bench")

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


def _measured(install: VllmInstall, command: str) -> dict[str, Any]:
    """The document of a quick measurement, which fits its schema."""
    done = subprocess.run(
        [*_BENCH, command, "--quick", "--json", f"--python={install.python}"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, schema(f"bench-{command}"))
    return document


def test_warm_prompts_come_from_the_cache_with_the_same_tokens(install: VllmInstall) -> None:
    document = _measured(install, "ttft")
    assert document["same_tokens"]
    alone, mine, _ = document["engines"]
    assert mine["failure"] is None
    cached = {(one["engine"], one["what"]): one["cached_tokens"] for one in mine["passes"]}
    assert cached["pegaflow", "cold"] == 0
    assert cached["pegaflow", "warm"] > 0.9 * document["prompts"] * document["tokens"]
    found = {one["what"]: one["cached_tokens"] for one in alone["passes"]}
    assert found["recompute"] == 0 < found["gpu hit"]


def test_only_a_restart_with_the_cache_finds_the_prompt_again(install: VllmInstall) -> None:
    document = _measured(install, "restart")
    assert document["same_tokens"]
    restarts = {(one["what"], one["with_cache"]): one for one in document["restarts"]}
    assert restarts["engine", False]["cached_tokens"] == 0
    assert restarts["engine", True]["cached_tokens"] > 0.8 * document["tokens"]
    assert restarts["daemon", True]["cached_tokens"] > 0.8 * document["tokens"]


def test_engines_that_share_a_pool_hit_what_others_saved(install: VllmInstall) -> None:
    document = _measured(install, "sharing")
    hits = {(cell["pools"], cell["routing"]): cell["hit_rate"] for cell in document["cells"]}
    assert hits[1, "round-robin"] > hits[document["engines"], "round-robin"]
    assert all(cell["tokens_s"] > 0 for cell in document["cells"])
