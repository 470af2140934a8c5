"""Measure, write results.json, and make the tables of it; a row that fails says why.

On a machine with an NVIDIA GPU, with torch, cupy and vLLM in this interpreter:
``python -m tests.bench.gpu_results --out DIR``. Anywhere: ``--join FILE`` makes the tables again.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from pegaflow.bench.figures import Say
from tests.bench.gpu_results import decode, parallel, pool, transfer, vllm
from tests.bench.gpu_results.document import Document, about, join, part, results_of
from tests.bench.gpu_results.result import Result
from tests.bench.gpu_results.table import short, write

PARTS: Final[Mapping[str, Callable[[Say], Iterator[Result]]]] = {
    "transfer": transfer.rows,
    "decode": decode.rows,
    "pool": pool.rows,
    "vllm": vllm.rows,
    "parallel": parallel.rows,
}
_FOR_ONE_GPU: Final = ("transfer", "decode", "pool", "vllm")
_ROOT: Final = Path(__file__).resolve().parents[3]
_RESULTS: Final = _ROOT / "tests/bench/results/h200"


def main() -> int:
    """Run the parts; the exit code is 0 whatever they measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_results", description=__doc__)
    parser.add_argument("--out", type=Path, default=_RESULTS, help="where results.json goes")
    parser.add_argument(
        "--part",
        choices=PARTS,
        action="append",
        help="measure this part; by default all but parallel, which needs two GPUs",
    )
    parser.add_argument(
        "--join", type=Path, nargs="+", help="measure nothing: these files' parts, later ones win"
    )
    parsed = parser.parse_args()
    document = join(parsed.join) if parsed.join else {"parts": {}}
    parsed.out.mkdir(parents=True, exist_ok=True)
    for name in () if parsed.join else parsed.part or _FOR_ONE_GPU:
        for measured in _measured(name):
            # After each row: a machine that goes away takes only the rest.
            document["parts"][name] = measured
            _write(document, parsed.out)
    document["parts"] = {
        name: document["parts"][name] for name in PARTS if name in document["parts"]
    }
    _write(document, parsed.out)
    write(document, parsed.out, _ROOT / "README.md")
    for rows in results_of(document).values():
        print("\n".join(short(rows)))
    return 0


def _measured(name: str) -> Iterator[Document]:
    """The part, each time with the rows that it has so far."""
    began, of = time.monotonic(), about()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {name}: {text}", file=sys.stderr, flush=True)

    rows = []
    for row in PARTS[name](say):
        rows.append(row)
        say("; ".join(short([row])))
        yield part(of, rows, time.monotonic() - began)


def _write(document: Document, directory: Path) -> None:
    text = json.dumps(document, indent=1) + "\n"
    (directory / "results.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
