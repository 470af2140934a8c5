"""The engines that are attached."""

from collections.abc import Sequence

from pegaflow.observe.snapshot import Engine
from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import rate, seconds
from pegaflow.tui.panels.table import Column, TablePanel
from pegaflow.tui.view import View
from pegaflow.units import format_duration, format_size


class EnginesPanel(TablePanel[Engine]):
    """A row for each engine."""

    NAME = "engines"
    TITLE = "Engines"
    HELP = (
        "Engines that are attached, and what they moved in the window; an idle one does not call."
    )
    NOTHING = "no engine is attached; `pegaflow vllm -- MODEL` starts one"
    columns = (
        Column[Engine](
            "engine",
            12,
            lambda one: one.engine_id,
            lambda one: one.engine_id,
            right=False,
            grows=True,
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
            "called", 8, lambda one: seconds(one.last_call_s), lambda one: one.last_call_s or 0.0
        ),
        Column[Engine](
            "saved", 7, lambda one: f"{one.saved_blocks:,}", lambda one: one.saved_blocks
        ),
        Column[Engine](
            "loaded", 7, lambda one: f"{one.loaded_blocks:,}", lambda one: one.loaded_blocks
        ),
        Column[Engine]("failed", 6, lambda one: f"{one.failures:,}", lambda one: one.failures),
        Column[Engine](
            "mapped",
            9,
            lambda one: format_size(one.mapped_bytes),
            lambda one: one.mapped_bytes,
            least_panel=92,
        ),
        Column[Engine](
            "page",
            9,
            lambda one: format_size(one.page_bytes) if one.page_bytes else "-",
            lambda one: one.page_bytes or 0,
            least_panel=114,
        ),
        Column[Engine](
            "namespace",
            12,
            lambda one: one.namespace[:12],
            lambda one: one.namespace,
            least_panel=104,
        ),
        Column[Engine]("model", 12, lambda one: one.model, lambda one: one.model, right=False),
    )

    def rows(self, view: View) -> Sequence[Engine]:
        """All that are attached."""
        return view.counted.engines

    def level(self, view: View, row: Engine) -> Level:
        """A stale one is worth a look."""
        return "warning" if row.stale or row.failures else "ok"

    def facts(self, row: Engine) -> tuple[str, dict[str, str]]:
        """All of one engine."""
        return f"Engine {row.engine_id}", {
            "model": row.model,
            "namespace": row.namespace,
            "workers": f"{row.registered_workers} of {row.workers} registered",
            "attached for": format_duration(row.attached_s),
            "last call": f"{seconds(row.last_call_s)} ago",
            "saved": f"{row.saved_blocks:,} blocks, {rate(row.save_bytes_per_s)}",
            "loaded": f"{row.loaded_blocks:,} blocks, {rate(row.load_bytes_per_s)}",
            "failed": f"{row.failures:,} saves and loads",
            "memory that saves and loads reach": format_size(row.mapped_bytes),
            "state": "stale: workers are missing" if row.stale else "well",
            "bytes of a block on its GPUs": (
                format_size(row.page_bytes) if row.page_bytes else "none: it is not on a GPU"
            ),
        }
