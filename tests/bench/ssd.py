"""The SSD tier beside fio: runs ``native/core/benches/ssd_tier.rs`` and the same pattern by fio."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.bench import ssd_warm
from tests.bench.rows import Row

_NATIVE: Final = Path(__file__).resolve().parents[2] / "native"
_COMMAND: Final = ("cargo", "bench", "--locked", "-p", "pegaflow-core", "--bench", "ssd_tier", "--")
_BYTES: Final = 2 << 30
_PAGES: Final = {"256 KiB pages": 256 << 10, "1024 KiB pages": 1 << 20}
_WRITE_BYTES: Final = 1 << 20
"""What the tier gives the disk at one time, also of smaller pages."""

_UNDER_WAY_BYTES: Final = 32 << 20
_READS: Final = 32
_WRITE_SHARE: Final = 85.0
_READ_SHARE: Final = 90.0
_WARM_SHARE: Final = 85.0
_WARM_PAGES: Final = "256 KiB pages"
_RECOVERY_S: Final = 2.0
_MEMORY_BYTES: Final = 64.0
_RECOVERED: Final = 1_000_000
_ROUNDS: Final = 3


def rows() -> Iterator[Row]:
    """Rates in GB/s and their shares of fio's; medians of rounds in which each has its turn."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PEGAFLOW_BENCH_DIR")) as name:
        place = Path(name)
        beside = shutil.which("fio") is not None
        rounds = [_round(place, beside, index == 0) for index in range(_ROUNDS)]
    measured = {key: _median([one[key] for one in rounds if key in one], 3) for key in rounds[0]}
    for key, value in measured.items():
        yield _row(key, value)
    for pages in _PAGES:
        for kind, share in (("write", _WRITE_SHARE), ("read", _READ_SHARE)):
            row = f"ssd {kind}, {pages}, share of fio"
            if beside:
                shares = [
                    100 * one[f"ssd {kind}, {pages}"] / one[f"fio {kind}, {pages}"]
                    for one in rounds
                ]
                yield Row(row, _median(shares, 1), "%", share, "least")
            else:
                yield Row(row, "not measured: install fio to compare with it", "%", share, "least")
    warm = [
        100 * one[f"ssd warm, {_WARM_PAGES}"] / one[f"ssd read, {_WARM_PAGES}"] for one in rounds
    ]
    name = f"ssd warm, {_WARM_PAGES}, share of the tier's random reads"
    yield Row(name, _median(warm, 1), "%", _WARM_SHARE, "least")


def _median(values: Sequence[float], digits: int) -> float:
    return round(statistics.median(values), digits)


def _row(name: str, value: float) -> Row:
    if name.startswith("ssd recovery"):
        return Row(name, value, "s", _RECOVERY_S)
    if name.startswith("ssd memory"):
        return Row(name, value, "bytes", _MEMORY_BYTES)
    if name.endswith("of one core"):
        return Row(name, value, "%")
    return Row(name, value, "blocks/s" if name == "ssd write, 4 KiB pages" else "GB/s")


def _round(place: Path, beside: bool, recovers: bool) -> dict[str, float]:
    """One turn of each; the recovery once."""
    blocks = _RECOVERED if recovers else 0
    arguments = ("--dir", str(place), "--bytes", str(_BYTES), "--recover", str(blocks))
    output = subprocess.check_output((*_COMMAND, *arguments), cwd=_NATIVE, encoding="utf-8")
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    measured = {str(line["name"]): float(line["value"]) for line in lines}
    measured[f"ssd warm, {_WARM_PAGES}"] = ssd_warm.rate(place, _PAGES[_WARM_PAGES], _BYTES)
    if beside:
        file = place / "fio"
        depth = _UNDER_WAY_BYTES // _WRITE_BYTES
        write = ("--rw=write", f"--bs={_WRITE_BYTES}", f"--iodepth={depth}", "--end_fsync=1")
        # The tier's segments have been filled before, too.
        _fio(file, write, "write")
        for pages, page_bytes in _PAGES.items():
            measured[f"fio write, {pages}"] = _fio(file, write, "write")
            read = ("--rw=randread", f"--bs={page_bytes}", f"--iodepth={_READS}")
            measured[f"fio read, {pages}"] = _fio(file, read, "read")
        file.unlink()
    return measured


def _fio(file: Path, pattern: Sequence[str], kind: str) -> float:
    """GB/s of one job that transfers every byte of the file once."""
    common = ("--name=side", "--ioengine=io_uring", "--direct=1", f"--size={_BYTES}")
    command = ("fio", *common, f"--filename={file}", "--output-format=json", *pattern)
    report: Mapping[str, Any] = json.loads(subprocess.check_output(command, encoding="utf-8"))
    job = report["jobs"][0]
    # The run time of the job has the last fsync in it; the rate of the kind has not.
    seconds = float(max(job["job_runtime"], job[kind]["runtime"])) / 1000
    return float(job[kind]["io_bytes"]) / seconds / 1e9
