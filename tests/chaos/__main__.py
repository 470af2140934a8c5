"""Kill, stop and continue daemon and engines; lines for people, then one JSON line.

The exit code is 1 if any token was wrong, any request failed, or anything leaked.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tests.chaos.run import Chaos
from tests.demo.control import run_control
from tests.demo.report import Report
from tests.engine.vllm_install import VllmInstall


def main() -> int:
    """The negative control, then the run."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the faults go on")
    parser.add_argument(
        "--seed", type=int, default=1, help="other seeds are other mixes and faults"
    )
    parser.add_argument("--python", type=Path, help="the interpreter beside vLLM")
    parser.add_argument("--logs", type=Path, help="a directory in which the logs stay")
    parsed = parser.parse_args()
    install = VllmInstall(parsed.python.absolute()) if parsed.python else VllmInstall.chosen()
    report = Report(Console())
    report.step("the negative control: swapped bytes of a cached block must change the tokens")
    control = run_control(report, install)
    if not control.has_shown_it:
        report.problem("swapped bytes have to change the tokens, and right bytes must not")
    with tempfile.TemporaryDirectory(prefix="pegaflow-chaos-") as name:
        directory = parsed.logs.absolute() if parsed.logs else Path(name)
        directory.mkdir(parents=True, exist_ok=True)
        figures = Chaos(report, install, directory, parsed.minutes, parsed.seed).run()
    for line in figures.lines():
        report.step(line)
    problems = list(figures.problems())
    for problem in problems:
        report.problem(problem)
    document = {"control": control.document(), **figures.document()}
    print(json.dumps(document, separators=(",", ":")))
    return 0 if control.has_shown_it and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
