"""The dashboard and the alerts of the examples name nothing that a daemon does not have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pegaflow.client import Client
from tests.cli.conftest import host
from tests.cli.installed import Host
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import EngineMemory, Shape
from tests.packaging.checkout import ROOT

__all__ = ["host"]

_EXAMPLES: Final = ROOT / "examples/grafana"
_SERIES: Final = re.compile(r"\bpegaflow_\w+\b")
_SELECTOR: Final = re.compile(r"\b(pegaflow_\w+)\{([^}]*)\}")
_LABEL: Final = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPED: Final = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
_OF_PROMETHEUS: Final = {"instance", "job", "le"}


def _panels() -> Iterator[dict[str, Any]]:
    dashboard = json.loads((_EXAMPLES / "dashboard.json").read_text(encoding="utf-8"))
    yield from dashboard["panels"]


def _dashboard_expressions() -> list[str]:
    dashboard = json.loads((_EXAMPLES / "dashboard.json").read_text(encoding="utf-8"))
    notes = [note["expr"] for note in dashboard["annotations"]["list"]]
    return notes + [target["expr"] for panel in _panels() for target in panel.get("targets", [])]


def _alert_expressions() -> list[str]:
    # The tools have no YAML: an expression is on its line, or folded on those below.
    text = (_EXAMPLES / "alerts.yaml").read_text(encoding="utf-8")
    text = re.sub(r">-\n((?:\s{10,}.*\n)+)", lambda lines: " ".join(lines[1].split()) + "\n", text)
    return re.findall(r"^\s+expr: (.*)$", text, re.MULTILINE)


@pytest.fixture
def metrics(host: Host) -> dict[str, set[str]]:
    """The names of series of a daemon with both tiers and some traffic, with their labels."""
    (host.directory / "ssd").mkdir()
    host.serve("--ssd", f"{host.directory}/ssd=64MiB")
    memory = EngineMemory(Shape(num_blocks=4, layers=1, segment_bytes=64 << 10))
    hashes = fresh_hashes(4)
    memory.refill(range(4))
    with AttachedEngine(host.socket, memory) as engine:
        engine.save(hashes, range(4))
        engine.load(hashes, range(4))
    client = Client(str(host.socket))
    wait_until(lambda: not client.status().engines, "the engine's sessions end", 10.0)
    text = client.metrics()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_every_series_and_label_is_one_that_a_daemon_has(metrics: dict[str, set[str]]) -> None:
    expressions = _dashboard_expressions() + _alert_expressions()
    assert len(_dashboard_expressions()) > 40
    assert len(_alert_expressions()) == 12
    for expression in expressions:
        names = set(_SERIES.findall(expression))
        assert names, expression
        assert names <= metrics.keys(), expression
        labels = set[str]().union(*(metrics[name] for name in names))
        for name, selector in _SELECTOR.findall(expression):
            assert set(_LABEL.findall(selector)) - _OF_PROMETHEUS <= metrics[name], expression
        for group in _GROUPED.findall(expression):
            wanted = {label.strip() for label in group.split(",")}
            assert wanted - _OF_PROMETHEUS <= labels, expression


def test_every_expression_is_one_that_prometheus_takes() -> None:
    for expression in _dashboard_expressions() + _alert_expressions():
        # Grafana puts a duration in its place.
        promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def test_every_panel_says_what_it_shows_and_none_lies_on_another() -> None:
    taken = set[tuple[int, int]]()
    for panel in _panels():
        place = panel["gridPos"]
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"].endswith("."), panel["title"]
            assert panel["fieldConfig"]["defaults"]["unit"]


def test_every_alert_has_a_severity_and_says_what_to_do() -> None:
    text = (_EXAMPLES / "alerts.yaml").read_text(encoding="utf-8")
    alerts = text.split("- alert: ")[1:]
    names = [alert.partition("\n")[0] for alert in alerts]
    assert len(names) == len(set(names)) == 12
    for alert in alerts:
        assert re.search(r"labels: \{severity: (info|warning|critical)\}", alert), alert
        assert re.search(r"^\s+summary: .+$", alert, re.MULTILINE), alert
        assert re.search(r"^\s+description: .+$", alert, re.MULTILINE), alert


def test_the_examples_are_where_the_documents_say() -> None:
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    for file in sorted(Path(_EXAMPLES).iterdir()):
        assert f"grafana/{file.name}" in listed
