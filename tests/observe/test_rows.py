"""Snapshots as rows."""

from pegaflow.observe.fleet import Unanswered
from pegaflow.observe.reading import snapshot
from pegaflow.observe.rows import CSV, csv_gap, csv_row
from pegaflow.observe.scripted import ScriptedSource
from tests.observe.clock import Clock

_BEGAN = 1_700_000_000.0


def test_a_daemon_without_an_answer_has_a_row_with_its_name() -> None:
    gap = Unanswered("gpu-9", "it does not answer")
    row = dict(zip(CSV, csv_gap(gap, _BEGAN), strict=True))
    assert {name: value for name, value in row.items() if value is not None} == {
        "time": "2023-11-14T22:13:20.000Z",
        "host": "gpu-9",
        "state": "unanswered",
        "reason": "it does not answer",
    }


def test_a_row_has_a_value_for_each_column() -> None:
    source = ScriptedSource("gpu-1", Clock(_BEGAN + 30), _BEGAN)
    row = dict(zip(CSV, csv_row(snapshot(source.read())), strict=True))
    assert [name for name, value in row.items() if value is None] == ["reason"]
    assert row["requested"] == sum(
        int(str(row[name])) for name in ("memory", "ssd", "remote", "miss")
    )
