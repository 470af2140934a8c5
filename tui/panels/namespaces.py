"""What each namespace has."""

from collections.abc import Sequence

from pegaflow.observe.rows import percent
from pegaflow.observe.snapshot import Namespace
from pegaflow.tui.panels.table import Column, TablePanel
from pegaflow.tui.view import View
from pegaflow.units import format_size


class NamespacesPanel(TablePanel[Namespace]):
    """A row for each namespace, those with most bytes in memory first."""

    NAME = "namespaces"
    TITLE = "Namespaces"
    HELP = (
        "Bytes and blocks of each namespace, its hits in memory and on ssd in the window, and what "
        "it lost."
    )
    NOTHING = "nothing was asked for or saved yet"
    columns = (
        Column[Namespace](
            "namespace", 12, lambda one: one.namespace[:12], lambda one: one.namespace, right=False
        ),
        Column[Namespace]("bytes", 9, lambda one: format_size(one.bytes), lambda one: one.bytes),
        Column[Namespace](
            "blocks", 7, lambda one: f"{one.blocks:,}", lambda one: one.blocks, least_panel=70
        ),
        Column[Namespace](
            "on ssd", 9, lambda one: format_size(one.ssd_bytes), lambda one: one.ssd_bytes
        ),
        Column[Namespace]("asked", 7, lambda one: f"{one.requested:,}", lambda one: one.requested),
        Column[Namespace](
            "hit", 4, lambda one: percent(one.hit_share), lambda one: one.hit_share or 0.0
        ),
        Column[Namespace](
            "evicted/s",
            9,
            lambda one: f"{one.evictions_per_s:,.1f}",
            lambda one: one.evictions_per_s,
        ),
        Column[Namespace](
            "quota", 9, lambda one: _quota(one), lambda one: one.quota_bytes or 0, least_panel=75
        ),
        Column[Namespace](
            "model",
            8,
            lambda one: one.model or "-",
            lambda one: one.model or "",
            right=False,
            least_panel=92,
        ),
    )

    def rows(self, view: View) -> Sequence[Namespace]:
        """All of them."""
        return view.counted.namespaces

    def facts(self, row: Namespace) -> tuple[str, dict[str, str]]:
        """All of one namespace."""
        return f"Namespace {row.namespace[:12]}", {
            "namespace": row.namespace,
            "model": row.model or "no engine of it is attached",
            "in memory": f"{row.blocks:,} blocks, {format_size(row.bytes)}",
            "on ssd": f"{row.ssd_blocks:,} blocks, {format_size(row.ssd_bytes)}",
            "asked for": f"{row.requested:,} blocks, {percent(row.hit_share)} found",
            "evicted": f"{row.evictions:,} blocks, {row.evictions_per_s:,.1f} a second",
            "kept": _quota(row),
        }


def _quota(namespace: Namespace) -> str:
    if namespace.pinned:
        return "pinned"
    return format_size(namespace.quota_bytes) if namespace.quota_bytes is not None else "-"
