"""Which commit figures are of."""

import os
import subprocess
from pathlib import Path


def commit() -> str:
    """The checkout's; ``PEGAFLOW_COMMIT`` where the files were copied without their history."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=Path(__file__).parent,
    )
    found = os.environ.get("PEGAFLOW_COMMIT") or described.stdout.strip()
    return found or "not a git checkout"
