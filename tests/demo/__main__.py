"""The demo: lines for people, then one JSON line; exit code 1 if anything differs."""

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from tests.demo.report import Report
from tests.demo.story import Story
from tests.engine.vllm_install import VllmInstall


def main() -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other seeds are other prompts")
    parser.add_argument("--python", type=Path, help="the interpreter beside vLLM")
    parsed = parser.parse_args()
    install = VllmInstall(parsed.python.absolute()) if parsed.python else VllmInstall.chosen()
    report = Report(Console())
    figures = Story(report, install).tell(parsed.seed)
    report.table(figures)
    for problem in figures.problems():
        report.problem(problem)
    print(json.dumps(figures.document()))
    return 1 if any(figures.problems()) else 0


if __name__ == "__main__":
    sys.exit(main())
