"""Measure, write results.json, and make the tables of it; a row that fails says why.

On a machine with an NVIDIA GPU, with torch, cupy and vLLM in this interpreter:
``python -m tests.bench.gpu_results --out DIR``. Anywhere: ``--join FILE`` makes the tables again.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pegaflow.bench.figures import Say
from tests.bench.gpu_results import decode, parallel, pool, starts, transfer, ttft, vllm
from tests.bench.gpu_results.document import Document, about, join, part, results_of
from tests.bench.gpu_results.result import Result
from tests.bench.gpu_results.table import short, write_page, write_readme

PARTS: Final[Mapping[str, Callable[[Say], Iterator[Result]]]] = {
    "transfer": transfer.rows,
    "decode": decode.rows,
    "pool": pool.rows,
    "ttft": ttft.rows,
    "vllm": vllm.rows,
    "starts": starts.rows,
    "parallel": parallel.rows,
}
_FOR_ONE_GPU: Final = ("transfer", "decode", "pool", "ttft", "vllm", "starts")
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
        help="measure this part anew; by default all but parallel, which needs two GPUs",
    )
    parser.add_argument(
        "--join", type=Path, nargs="+", help="measure nothing: put these files' parts together"
    )
    parsed = parser.parse_args()
    parsed.out.mkdir(parents=True, exist_ok=True)
    parts = parsed.part or _FOR_ONE_GPU
    if parsed.join:
        document = join(parsed.join)
    elif len(parts) > 1:
        document = _apart(parts, parsed.out)
    else:
        document = _measure(parts[0], parsed.out)
    document = _ordered(document)
    _write(document, parsed.out)
    write_page(document, parsed.out)
    if parsed.out.resolve() == _RESULTS:
        write_readme(document, _ROOT / "README.md")
    for rows in results_of(document).values():
        print("\n".join(short(rows)))
    return 0


def _apart(parts: Sequence[str], out: Path) -> Document:
    """Each part in a process of its own, so that what it has on the GPU ends with it."""
    for name in parts:
        command = [sys.executable, "-m", "tests.bench.gpu_results", f"--part={name}"]
        subprocess.run([*command, f"--out={out}"], stdout=subprocess.DEVNULL, check=False)
    return _known(out)


def _measure(name: str, out: Path) -> Document:
    """The file's parts with this one measured anew."""
    document = _known(out)
    for measured in _measured(name):
        document["parts"][name] = measured
        # After each row: a machine that goes away takes only the rest.
        _write(document, out)
    return document


def _known(out: Path) -> Document:
    file = out / "results.json"
    return join([file] if file.is_file() else [])


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


def _ordered(document: Document) -> Document:
    parts = document["parts"]
    return {"parts": {name: parts[name] for name in PARTS if name in parts}}


def _write(document: Document, directory: Path) -> None:
    text = json.dumps(_ordered(document), indent=1) + "\n"
    (directory / "results.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
