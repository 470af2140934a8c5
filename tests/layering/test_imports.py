"""What an import brings along, seen in ``sys.modules`` of a fresh interpreter."""

import json
import pkgutil
import subprocess
import sys

import pytest

import pegaflow

PROGRAMS = {"cli", "tui", "connector", "__main__"}
PACKAGE = sorted(
    module.name
    for module in pkgutil.walk_packages(pegaflow.__path__, "pegaflow.")
    if module.name.split(".")[1] not in PROGRAMS
)


def _loaded_by(module: str) -> set[str]:
    """The packages, two levels deep, that importing ``module`` loads."""
    script = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True
    )
    parts = [name.split(".") for name in json.loads(done.stdout)]
    return {".".join(name[:depth]) for name in parts for depth in (1, 2)}


def test_the_whole_package_is_looked_at() -> None:
    assert {"pegaflow.client", "pegaflow.config.load", "pegaflow.units"} <= set(PACKAGE)


@pytest.mark.parametrize("module", PACKAGE)
def test_the_package_loads_no_program_and_none_of_their_libraries(module: str) -> None:
    assert not _loaded_by(module) & {
        "cupy",
        "pegaflow.cli",
        "pegaflow.connector",
        "pegaflow.tui",
        "rich",
        "textual",
        "torch",
        "typer",
        "vllm",
    }


def test_the_command_line_loads_slow_libraries_only_when_a_command_needs_them() -> None:
    assert not _loaded_by("pegaflow.cli.app") & {
        "asyncio",
        "httpx",
        "importlib.metadata",
        "pegaflow.connector",
        "pegaflow.tui",
        "prometheus_client",
        "pydantic",
        "textual",
        "toml",
        "torch",
        "vllm",
    }
