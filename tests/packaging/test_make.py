"""The entry points for people: ``make``, and what it says is missing."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.packaging.checkout import ROOT

TOOLS = {
    "rustc": "echo rustc 1.95.0",
    "cargo": "exit 0",
    "cc": "exit 0",
    "python3": "exit 0",
}


def _missing(directory: Path, tools: Mapping[str, str]) -> tuple[int, list[str]]:
    """The exit code and the sentences of the check, on a machine with these tools."""
    for name, does in tools.items():
        path = directory / name
        path.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        path.chmod(0o755)
    for name in ("bash", "cut", "env", "head", "sort"):
        (directory / name).symlink_to(Path("/usr/bin") / name)
    done = subprocess.run(
        ["/bin/bash", ROOT / ".ci/prerequisites"],
        env={"PATH": str(directory)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_help_lists_every_target_with_what_it_does() -> None:
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    listed = set(re.findall(r"^  make ([a-z-]+) +\S", done.stdout, re.MULTILINE))
    assert listed >= {
        "bench",
        "build",
        "chaos",
        "clean",
        "demo",
        "demo-control",
        "help",
        "lint",
        "test",
        "test-vllm",
        "wheel",
    }


def test_a_vllm_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "test-vllm", "VLLM=0.1.0"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 2
    assert "VLLM=0.1.0 is not known here" in done.stderr
    assert "use 0.26.0 or 0.32.0" in done.stderr


def test_a_machine_that_has_everything_is_told_nothing(tmp_path: Path) -> None:
    assert _missing(tmp_path, TOOLS) == (0, [])


def test_each_thing_that_is_missing_is_a_sentence_with_the_remedy(tmp_path: Path) -> None:
    code, said = _missing(tmp_path, {})
    assert code == 1
    assert len(said) == 3
    assert said[0].startswith("pegaflow: Rust is missing: install Rust 1.88 or newer")
    assert "`apt install python3 python3-venv`" in said[1]
    assert "`apt install gcc libc6-dev`" in said[2]


def test_tools_that_are_too_old_are_told_apart_from_missing_ones(tmp_path: Path) -> None:
    old = {"rustc": "echo rustc 1.63.0", "python3": '[ "$1" = --version ] && echo Python 3.10.1'}
    code, said = _missing(tmp_path, TOOLS | old)
    assert code == 1
    assert said[0].startswith("pegaflow: rustc 1.63.0 is too old: Rust 1.88 or newer is needed")
    assert said[1].startswith("pegaflow: Python 3.10.1 is too old: Python 3.11 or newer is needed")
    assert len(said) == 2
