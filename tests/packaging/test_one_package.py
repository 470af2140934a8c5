"""Every tool sees the four folders as the one package ``pegaflow``."""

import subprocess
import sys
from pathlib import Path

import grimp
import mypy.find_sources
import mypy.options
import pytest

from tests.packaging.checkout import PARTS, ROOT, git_files, package_modules


def test_import_linter_sees_every_module() -> None:
    assert grimp.build_graph("pegaflow", cache_dir=None).modules == package_modules()


def test_mypy_sees_every_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    options = mypy.options.Options()
    options.explicit_package_bases = True
    options.mypy_path = [str(ROOT)]
    sources = mypy.find_sources.create_source_list(["pegaflow"], options)
    assert {source.module for source in sources} - {"pegaflow._native"} == package_modules()


def test_ruff_sees_every_file() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--show-files", "."],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    seen = {str(Path(line).relative_to(ROOT)) for line in done.stdout.splitlines()}
    assert {path for path in git_files(*PARTS, "tests") if path.endswith(".py")} <= seen


def test_a_plain_checkout_is_importable() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import pegaflow.cli.app, pegaflow.config; print(pegaflow.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd="/", capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == f"{ROOT}/pegaflow/__init__.py\n"
