"""The examples run as their page says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.engine.free_port import free_port
from tests.engine.vllm_install import BLOCK_TOKENS, MAX_TOKENS, VllmInstall

pytestmark = pytest.mark.engine

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.timeout(600)
def test_the_second_engine_loads_what_the_first_computed(
    install: VllmInstall, model: Path, tmp_path: Path
) -> None:
    command = [
        *(sys.executable, str(EXAMPLES / "share_between_engines.py"), str(model)),
        *("--python", str(install.python)),
        *("--ports", str(free_port()), str(free_port())),
        *("--", "--dtype=float32", f"--block-size={BLOCK_TOKENS}", "--enforce-eager"),
        f"--max-model-len={MAX_TOKENS}",
    ]
    environment = install.environment(tmp_path / "unused.sock")

    output = subprocess.check_output(command, env=environment, encoding="utf-8")

    first, second = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    assert first["loaded_tokens"] == 0
    assert second["prompt_tokens"] == first["prompt_tokens"] > BLOCK_TOKENS
    full_blocks = second["prompt_tokens"] // BLOCK_TOKENS * BLOCK_TOKENS
    assert second["loaded_tokens"] == full_blocks


def test_the_configuration_is_accepted() -> None:
    pegaflow = str(Path(sys.executable).with_name("pegaflow"))
    subprocess.run([pegaflow, "config", "check", "--config", EXAMPLES / "config.toml"], check=True)


def test_the_connector_s_json_is_what_the_mission_states() -> None:
    config = json.loads((EXAMPLES / "kv-transfer-config.json").read_text(encoding="utf-8"))
    assert config == {
        "kv_connector": "PegaKVConnector",
        "kv_role": "kv_both",
        "kv_connector_module_path": "pegaflow.connector",
    }
