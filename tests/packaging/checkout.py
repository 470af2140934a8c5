"""The checkout: its files as git knows them."""

import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

PARTS: Final = ("pegaflow", "cli", "tui", "connector")
"""The folders of the import package; all but the first are linked into it."""


def git_files(*folders: str) -> set[str]:
    """The paths below ``folders`` that git tracks or would, as they are in the checkout."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *folders],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return {path for path in done.stdout.split("\0") if path and (ROOT / path).is_file()}


def package_files() -> set[str]:
    """The files of the import package, by their paths in it: ``pegaflow/cli/main.py``."""
    files = {
        path if path.startswith("pegaflow/") else f"pegaflow/{path}" for path in git_files(*PARTS)
    }
    assert "pegaflow/cli/main.py" in files
    return files


def package_modules() -> set[str]:
    """The Python modules of the import package: ``pegaflow.cli.main``."""
    modules = {path for path in package_files() if path.endswith(".py")}
    return {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in modules
    }
