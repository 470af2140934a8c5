"""Whole outputs, kept in files: one for each test that looks at one."""

from pathlib import Path

_DIRECTORY = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    """The output kept as ``name``."""
    return (_DIRECTORY / name).read_text(encoding="utf-8")
