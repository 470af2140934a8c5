"""The demo's lines: one for each step, a table, and what is wrong."""

import time
from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.demo.figures import Figures, external_tokens, local_tokens
from tests.engine.engine import Completion

_COLUMNS: Final[Mapping[str, str]] = {
    "after_kill": "engine killed",
    "second_engine": "second engine",
    "after_daemon_kill": "daemon killed",
}


class Report:
    """Writes to ``console``; times count from now."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def step(self, text: str) -> None:
        """One progress line."""
        self._console.print(f"[dim]{self.seconds:6.1f} s[/]  {text}", highlight=False)

    def table(self, figures: Figures) -> None:
        """All prompts, and the sums."""
        table = Table(
            title="Tokens computed/from PegaFlow/from vLLM's own cache, time to the first token"
        )
        table.add_column("prompt", justify="right")
        for column in ("cold", *_COLUMNS.values()):
            table.add_column(column, justify="right")
        table.add_column("same")
        for row in figures.rows:
            table.add_row(
                str(len(row.prompt)),
                *(_cell(len(row.prompt), answer) for answer in (row.cold, *row.warm.values())),
                "yes" if all(map(row.is_same, row.warm)) else "[red]no[/]",
                end_section=row is figures.rows[-1],
            )
        prompt_tokens = sum(len(row.prompt) for row in figures.rows)
        columns = [[row.cold for row in figures.rows], *map(figures.answers, _COLUMNS)]
        rates = [
            f"{(external_tokens(column) + local_tokens(column)) / prompt_tokens:.1%}"
            for column in columns
        ]
        table.add_row("hit rate", *rates, "")
        self._console.print(table)

    def problem(self, text: str) -> None:
        """One thing that differs from what must be."""
        self._console.print(f"[red]wrong:[/] {text}", highlight=False)


def _cell(prompt_tokens: int, completion: Completion | None) -> str:
    if completion is None:
        return "[red]failed[/]"
    hits = completion.hits
    computed = prompt_tokens - hits.external - hits.local
    return f"{computed}/{hits.external}/{hits.local}\n{1000 * completion.first_token_s:.0f} ms"
