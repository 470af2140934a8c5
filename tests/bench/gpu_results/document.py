"""The file of results: the rows of each part, with machine, versions and commit."""

import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from pegaflow.bench import machine
from tests.bench.commit import commit
from tests.bench.gpu_results.result import Result

Document = dict[str, Any]

_VERSIONS: Final = ("vllm", "torch", "cupy-cuda12x", "cupy-cuda13x")


def about() -> Mapping[str, str]:
    """What figures are of: machine, versions, commit and date."""
    found = dict(machine.describe())
    for name in _VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found | {"commit": commit()}


def part(of: Mapping[str, str], rows: Iterable[Result], seconds: float) -> Document:
    """One part with what was measured so far; ``of`` is what ``about`` gave."""
    return {
        "about": dict(of),
        "seconds": round(seconds, 1),
        "rows": [row.document() for row in rows],
    }


def join(files: Iterable[Path]) -> Document:
    """The parts of several files; those of later files win."""
    parts: Document = {}
    for file in files:
        parts |= json.loads(file.read_text(encoding="utf-8"))["parts"]
    return {"parts": parts}


def results_of(document: Document) -> dict[str, list[Result]]:
    """The rows of each part."""
    return {
        name: [Result.of(row) for row in part["rows"]] for name, part in document["parts"].items()
    }
