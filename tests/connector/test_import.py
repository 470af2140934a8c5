"""Importing the connector: what vLLM does in each of its processes."""

import subprocess
import sys

import pytest

import pegaflow.connector

_LOADED = """
import sys
import pegaflow.connector
loaded = set(sys.modules)
pegaflow.connector.PegaKVConnector
print(*sorted(loaded), "|", *sorted(sys.modules))
"""


@pytest.fixture(scope="module")
def loaded() -> tuple[set[str], set[str]]:
    """Modules after importing the package, and after looking the class up."""
    command = [sys.executable, "-c", _LOADED]
    text = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    package, _, looked_up = text.partition("|")
    return set(package.split()), set(looked_up.split())


def test_the_package_alone_loads_nothing(loaded: tuple[set[str], set[str]]) -> None:
    own = {name for name in loaded[0] if name.startswith("pegaflow")}
    assert own - {"pegaflow._native"} == {"pegaflow", "pegaflow.version", "pegaflow.connector"}


def test_the_class_loads_neither_command_line_nor_terminal(
    loaded: tuple[set[str], set[str]],
) -> None:
    tops = {name.partition(".")[0] for name in loaded[1]}
    assert tops.isdisjoint({"typer", "rich", "textual", "click", "httpx", "grpc"})
    assert not any(name.startswith(("pegaflow.cli", "pegaflow.tui")) for name in loaded[1])


def test_the_class_is_found_where_vllm_looks_for_it() -> None:
    assert pegaflow.connector.PegaKVConnector.__name__ == "PegaKVConnector"
    with pytest.raises(AttributeError, match="no attribute 'OtherConnector'"):
        pegaflow.connector.OtherConnector  # noqa: B018
