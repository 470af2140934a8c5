"""The engines that are attached."""

from collections.abc import Sequence

from pegaflow.observe.snapshot import Engine
from pegaflow.observe.thresholds import Level
from pegaflow.tui.panels.table import Column, TablePanel
from pegaflow.tui.view import View
from pegaflow.units import format_duration, format_size


class EnginesPanel(TablePanel[Engine]):
    """A row for each engine."""

    NAME = "engines"
    TITLE = "Engines"
    HELP = "Engines that are attached; stale: workers that did not register for 30 s."
    columns = (
        Column[Engine](
            "engine", 12, lambda one: one.engine_id[:12], lambda one: one.engine_id, right=False
        ),
        Column[Engine](
            "workers",
            7,
            lambda one: f"{one.registered_workers}/{one.workers}",
            lambda one: one.workers,
        ),
        Column[Engine](
            "attached", 9, lambda one: format_duration(one.attached_s), lambda one: one.attached_s
        ),
        Column[Engine](
            "page",
            9,
            lambda one: format_size(one.page_bytes) if one.page_bytes else "-",
            lambda one: one.page_bytes or 0,
            least_panel=70,
        ),
        Column[Engine](
            "namespace",
            12,
            lambda one: one.namespace[:12],
            lambda one: one.namespace,
            least_panel=60,
        ),
        Column[Engine]("model", 12, lambda one: one.model, lambda one: one.model, right=False),
    )

    def rows(self, view: View) -> Sequence[Engine]:
        """All that are attached."""
        return view.now.engines

    def level(self, view: View, row: Engine) -> Level:
        """A stale one is worth a look."""
        return "warning" if row.stale else "ok"

    def facts(self, row: Engine) -> tuple[str, dict[str, str]]:
        """All of one engine."""
        return f"Engine {row.engine_id}", {
            "model": row.model,
            "namespace": row.namespace,
            "workers": f"{row.registered_workers} of {row.workers} registered",
            "attached for": format_duration(row.attached_s),
            "state": "stale: workers are missing" if row.stale else "well",
            "bytes of a block on its GPUs": (
                format_size(row.page_bytes) if row.page_bytes else "none: it is not on a GPU"
            ),
        }

    def remark(self, view: View) -> str:
        """What is not known."""
        return view.now.absent["engine_traffic"]
