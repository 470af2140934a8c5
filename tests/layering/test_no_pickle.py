"""Nothing of ours turns bytes from elsewhere into objects or code."""

import ast
from pathlib import Path

import pytest

import pegaflow

_PACKAGE = Path(pegaflow.__file__).parent
_RUNS_CODE = {"cloudpickle", "dill", "marshal", "pickle", "shelve"}
_CALLS = {"compile", "eval", "exec"}


@pytest.mark.parametrize("part", ["", "cli", "connector", "tui"])
def test_nothing_of_ours_reads_a_pickle(part: str) -> None:
    sources = sorted((_PACKAGE / part).resolve().rglob("*.py"))
    assert sources
    for source in sources:
        nodes = list(ast.walk(ast.parse(source.read_text(encoding="utf-8"))))
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        imported = {alias.name for node in imports for alias in node.names}
        imported |= {node.module or "" for node in imports if isinstance(node, ast.ImportFrom)}
        assert not {name.partition(".")[0] for name in imported} & _RUNS_CODE, source
        called = {
            node.func.id
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & _CALLS, source
