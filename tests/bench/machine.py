"""Where and of what the figures are."""

import datetime
import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pegaflow import _native
from tests.bench.rows import Row


def rows() -> Iterator[Row]:
    """Machine, versions, commit and date, as rows without a target."""
    facts = {
        "machine": f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {_memory_gib()} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "pegaflow": _native.VERSION,
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    for name, text in facts.items():
        yield Row(name, text, "")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30


def _commit() -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return described.stdout.strip() or "not a git checkout"
