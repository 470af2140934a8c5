"""Examples in docstrings are true."""

import doctest
import importlib
from pathlib import Path

import pytest

from tests.packaging.checkout import ROOT

_PARTS = {"pegaflow": "pegaflow", "cli": "pegaflow.cli", "tui": "pegaflow.tui"}


def _modules() -> list[str]:
    """The modules with examples."""
    found = []
    for directory, package in _PARTS.items():
        for file in sorted((ROOT / directory).rglob("*.py")):
            if ">>> " in file.read_text(encoding="utf-8"):
                inner = file.relative_to(ROOT / directory).with_suffix("")
                found.append(".".join([package, *_names(inner)]))
    return found


def _names(inner: Path) -> list[str]:
    return [part for part in inner.parts if part != "__init__"]


@pytest.mark.parametrize("name", _modules())
def test_examples_give_what_they_say(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted and not results.failed


def test_there_are_examples() -> None:
    assert {"pegaflow.units", "pegaflow.tui.drawing", "pegaflow.tui.line"} <= set(_modules())
