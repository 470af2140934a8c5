"""Whole outputs, kept in files: one for each test that looks at one.

With ``PEGAFLOW_WRITE_GOLDEN=1`` in the environment ``keeps`` writes them anew.
"""

import os
from pathlib import Path

_DIRECTORY = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    """The output kept as ``name``."""
    return (_DIRECTORY / name).read_text(encoding="utf-8")


def keeps(name: str, output: str) -> bool:
    """Whether ``output`` is what is kept as ``name``."""
    if os.environ.get("PEGAFLOW_WRITE_GOLDEN"):
        (_DIRECTORY / name).write_text(output, encoding="utf-8")
    return output == golden(name)
