"""Where and of what figures are."""

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pegaflow.version import VERSION

_GPU_FIELDS: Final = "name,driver_version,pcie.link.gen.max,pcie.link.width.max"


def describe() -> dict[str, str]:
    """Machine, versions and date, by name; ``gpu`` only where there is one."""
    found = {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {_memory_gib()} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "pegaflow": VERSION,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    gpus = _gpus()
    return found | ({"gpu": gpus} if gpus else {})


def _gpus() -> str:
    """Name, driver's version, and generation and width of the link of each GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    done = subprocess.run(
        [program, f"--query-gpu={_GPU_FIELDS}", "--format=csv,noheader"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return "; ".join(done.stdout.strip().splitlines()) if done.returncode == 0 else ""


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
