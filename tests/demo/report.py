"""The demo's lines: one for each step, a table, and what is wrong."""

import time

from rich.console import Console
from rich.table import Table

from tests.demo.figures import Figures
from tests.engine.engine import Completion


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
            title="Tokens computed / from PegaFlow / from vLLM's own cache, ms to the first token"
        )
        table.add_column("prompt", justify="right")
        for engine in ("cold", "after kill -9", "second engine"):
            table.add_column(engine, justify="right")
        table.add_column("same tokens")
        for row in figures.rows:
            completions = (row.cold, row.after_kill, row.second)
            table.add_row(
                f"{len(row.prompt)} tokens",
                *(_cell(len(row.prompt), completion) for completion in completions),
                "yes" if row.same_after_kill and row.same_on_second else "[red]no[/]",
                end_section=row is figures.rows[-1],
            )
        prompt_tokens = sum(len(row.prompt) for row in figures.rows)
        columns = zip(
            *((row.cold, row.after_kill, row.second) for row in figures.rows), strict=True
        )
        rates = []
        for column in columns:
            found = figures.external_tokens(column) + figures.local_tokens(column)
            rates.append(f"{found / prompt_tokens:.1%}")
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
    return f"{computed} / {hits.external} / {hits.local}  {1000 * completion.first_token_s:4.0f} ms"
