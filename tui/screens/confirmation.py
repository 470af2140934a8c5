"""Asks before something goes that cannot be had back: its name has to be typed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from pegaflow.units import AMOUNT_FORM, parse_amount


@dataclass(frozen=True)
class Target:
    """Something that blocks can be evicted from."""

    name: str
    """What has to be typed."""
    operation: str
    fields: dict[str, Any]
    has_amount: bool
    """Whether a part of it can go; else it is all of it."""


class Confirmation(ModalScreen[tuple[Target, dict[str, Any]] | None]):
    """Lets the user type how much, and the name of one of the targets."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "do nothing")]

    def __init__(self, host: str, targets: Sequence[Target]) -> None:
        super().__init__()
        self._host = host
        self._targets = {target.name: target for target in targets}
        self._has_amount = any(target.has_amount for target in targets)

    def compose(self) -> ComposeResult:
        """What would go, how much, and the name."""
        with Vertical(id="page") as box:
            box.border_title = f"Evict blocks of {self._host}"
            box.border_subtitle = "Enter evicts, Esc does nothing"
            names = ", ".join(self._targets)
            yield Static(f"What is evicted is gone. Type one of: {names}", markup=False)
            if self._has_amount:
                yield Static("how much", markup=False)
                yield Input("10%", id="amount")
            yield Static("the name", markup=False)
            yield Input(id="name")
            yield Static("", id="mistake", markup=False)

    def on_mount(self) -> None:
        """Begin with the name."""
        self.query_one("#name").focus()

    @on(Input.Submitted)
    def confirm(self) -> None:
        """Leave with what was typed, or say what is wrong with it."""
        target = self._targets.get(self.query_one("#name", Input).value.strip())
        if target is None:
            self._say("that is none of these names; nothing was changed")
            return
        fields = dict(target.fields)
        if target.has_amount:
            text = self.query_one("#amount", Input).value
            try:
                fields["amount"] = parse_amount(text)
            except ValueError:
                self._say(f"{text!r} cannot be used; allowed: {AMOUNT_FORM}")
                return
        self.dismiss((target, fields))

    def _say(self, mistake: str) -> None:
        self.query_one("#mistake", Static).update(mistake)
