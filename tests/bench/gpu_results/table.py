"""The results as Markdown: all of them beside the file, and those that are judged in the README."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.bench.gpu_results.document import Document, results_of
from tests.bench.gpu_results.result import Result

BEGIN: Final = "<!-- made by `make results-gpu`: begin -->"
END: Final = "<!-- made by `make results-gpu`: end -->"


def page(document: Document) -> str:
    """The page beside the file of results."""
    return "\n".join(_page(document)) + "\n"


def readme_table(document: Document) -> str:
    """The table of the README: rows that met a target, or did not."""
    rows = [row for rows in results_of(document).values() for row in rows if row.met is not None]
    met = sum(bool(row.met) for row in rows)
    about = [part["about"] for part in document["parts"].values()]
    gpus = sorted({one.get("gpu", "no GPU").partition(",")[0] for one in about})
    commits = sorted({one["commit"] for one in about})
    lines = [
        f"{met} of {len(rows)} targets met on {', '.join(gpus)} (commit {', '.join(commits)}):",
        "",
        "| what | measured | target | met |",
        "|---|---|---|---|",
        *(f"| {row.what} | {_value(row)} | {_target(row)} | {_met(row)} |" for row in rows),
    ]
    return "\n".join(lines)


def put_in(text: str, table: str) -> str:
    """``text`` with ``table`` between the markers."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or not after:
        raise ValueError(f"the text has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def write_page(document: Document, directory: Path) -> None:
    """The page in ``directory``."""
    (directory / "README.md").write_text(page(document), encoding="utf-8")


def write_readme(document: Document, readme: Path) -> None:
    """The table in ``readme``."""
    text = put_in(readme.read_text(encoding="utf-8"), readme_table(document))
    readme.write_text(text, encoding="utf-8")


def short(rows: Iterable[Result]) -> Iterator[str]:
    """A line for each row, for a terminal."""
    for row in rows:
        yield (
            f"{_met(row):4} {row.what}: {_value(row)}"
            + (f" (target {_target(row)})" if row.target is not None else "")
            + (f": {row.failure}" if row.failure else "")
        )


def _page(document: Document) -> Iterator[str]:
    yield "# The data path on one GPU"
    yield ""
    yield "Written by `python -m tests.bench.gpu_results` out of results.json."
    for name, part in document["parts"].items():
        about = part["about"]
        yield f"\n## {name}\n"
        yield "; ".join(f"{key} {text}" for key, text in about.items()) + f"; {part['seconds']} s"
        yield ""
        yield "| what | measured | target | met | how |"
        yield "|---|---|---|---|---|"
        for row in map(Result.of, part["rows"]):
            yield (f"| {row.what} | {_value(row)} | {_target(row)} | {_met(row)} | {_how(row)} |")


def _how(row: Result) -> str:
    return (row.failure or row.how).replace("|", "/").replace("\n", " ")


def _value(row: Result) -> str:
    if row.value is None:
        return "not measured"
    return f"{row.value:g} {row.unit}"


def _target(row: Result) -> str:
    if row.target is None:
        return ""
    return f"{'≤' if row.bound == 'most' else '≥'} {row.target:g}"


def _met(row: Result) -> str:
    return {None: "", True: "yes", False: "no"}[row.met]
