"""The demo: lines for people, then one JSON line; exit code 1 if anything differs."""

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from tests.demo.control import run_control
from tests.demo.report import Report
from tests.demo.ssd_story import SsdStory
from tests.demo.story import Story
from tests.engine.vllm_install import VllmInstall


def main() -> int:
    """Run the demo, or its negative control."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--python", type=Path, help="the interpreter beside vLLM")
    parser.add_argument("--gpu", action="store_true", help="it is a vLLM that runs on a GPU")
    parser.add_argument("--seed", type=int, default=0, help="other seeds are other prompts")
    parser.add_argument("--ssd", action="store_true", help="run the demo of the ssd tier")
    parser.add_argument("--control", action="store_true", help="run the negative control")
    parsed = parser.parse_args()
    install = VllmInstall(parsed.python.absolute()) if parsed.python else VllmInstall.chosen()
    if parsed.gpu:
        install = VllmInstall(install.python, has_gpu=True)
    report = Report(Console())
    if parsed.control:
        return _control(report, install)
    if parsed.ssd:
        return _ssd(report, install, parsed.seed)
    return _demo(report, install, parsed.seed)


def _demo(report: Report, install: VllmInstall, seed: int) -> int:
    figures = Story(report, install).tell(seed)
    report.table(figures)
    problems = list(figures.problems())
    for problem in problems:
        report.problem(problem)
    if not problems:
        report.step("all prompts got the same tokens after each kill, out of the cache")
    print(json.dumps(figures.document(), separators=(",", ":")))
    return 1 if problems else 0


def _ssd(report: Report, install: VllmInstall, seed: int) -> int:
    figures = SsdStory(report, install).tell(seed)
    problems = list(figures.problems())
    for problem in problems:
        report.problem(problem)
    print(json.dumps(figures.document(), separators=(",", ":")))
    return 1 if problems else 0


def _control(report: Report, install: VllmInstall) -> int:
    control = run_control(report, install)
    report.step(
        f"of {len(control.cold.tokens)} positions {control.positions_above_noise} are above the "
        f"run-to-run noise of {control.noise:.1e}"
    )
    if not control.has_shown_it:
        report.problem("swapped bytes have to change the tokens, and right bytes must not")
    print(json.dumps(control.document(), separators=(",", ":")))
    return 0 if control.has_shown_it else 1


if __name__ == "__main__":
    sys.exit(main())
