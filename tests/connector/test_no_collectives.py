"""No rank waits for another inside of the connector."""

import ast
from pathlib import Path

import pegaflow.connector

_COLLECTIVES = {
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "broadcast_object",
    "broadcast_object_list",
    "broadcast_tensor_dict",
    "gather",
    "monitored_barrier",
    "recv_object",
    "recv_tensor_dict",
    "reduce_scatter",
    "send_object",
    "send_tensor_dict",
}


def test_the_connector_calls_no_collective() -> None:
    sources = sorted(Path(pegaflow.connector.__path__[0]).rglob("*.py"))
    named = {
        (source.name, node.attr if isinstance(node, ast.Attribute) else node.id)
        for source in sources
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
    }

    assert ("compat.py", "get_tp_group") in named
    assert [found for found in named if found[1] in _COLLECTIVES] == []
