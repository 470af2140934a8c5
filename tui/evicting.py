"""Evictions from the dashboard: what can go, and what became of it."""

from functools import partial
from typing import Any

from textual.app import App

from pegaflow.errors import PegaflowError
from pegaflow.observe.operator import Operator
from pegaflow.observe.snapshot import Snapshot
from pegaflow.tui.panels.namespaces import NamespacesPanel
from pegaflow.tui.screens.confirmation import Confirmation, Target
from pegaflow.units import format_size

_DIGITS = 12


def ask(app: App[None], host: str, now: Snapshot, operator: Operator) -> None:
    """Evict blocks of a daemon, once the user has typed what of."""

    def start(chosen: tuple[Target, dict[str, Any]] | None) -> None:
        if chosen is not None:
            app.run_worker(partial(_evict, app, operator, *chosen), thread=True)

    app.push_screen(Confirmation(host, targets(now, app.focused)), start)


def _evict(app: App[None], operator: Operator, target: Target, fields: dict[str, Any]) -> None:
    try:
        result = operator.do(target.operation, fields)
    except PegaflowError as error:
        app.call_from_thread(app.notify, str(error), severity="error", timeout=30)
    else:
        app.call_from_thread(app.notify, sentence(target, result), timeout=30)


def targets(now: Snapshot, focused: object) -> list[Target]:
    """The namespace under the cursor, where namespaces have the focus, else every tier's parts."""
    if isinstance(focused, NamespacesPanel):
        row = focused.selected()
        if row is None:
            return []
        fields = {"namespace": row.namespace}
        return [Target(row.namespace[:_DIGITS], "namespace-evict", fields, has_amount=False)]
    return [
        Target(
            tier.name,
            "tier-evict",
            {"tier": tier.tier} | ({"path": tier.name} if tier.tier == "ssd" else {}),
            has_amount=True,
        )
        for tier in now.tiers
    ]


def sentence(target: Target, result: dict[str, Any]) -> str:
    """What went, and what stayed."""
    blocks = result.get("blocks", 0) + result.get("ssd_blocks", 0)
    size = result.get("bytes", 0) + result.get("ssd_bytes", 0)
    text = f"{target.name}: {blocks:,} blocks ({format_size(size)}) evicted"
    kept = result.get("kept_blocks", 0)
    return f"{text}; {kept:,} stay, because they are in use or pinned" if kept else text
