"""The directories of the ssd tier, and how fast their disks are."""

import errno
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pegaflow.config.ssd import SsdPath
from pegaflow.doctor.disk_rate import DiskRate, measure
from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.units import format_size

_SLOW_BYTES_S: Final = 200 << 20
"""Of a disk that reads slower little is worth fetching."""


def check(
    machine: Machine, paths: Sequence[SsdPath], more: Sequence[str] = ()
) -> Iterator[Finding]:
    """The paths of the daemon or its configuration, and ``more`` directories."""
    if not paths and not more:
        yield Finding(
            "disk",
            "note",
            "there is no ssd tier, so no disk was measured",
            "neither daemon nor configuration has an ssd path, and no --disk was given",
            "name a directory with --disk to measure its disk; "
            "`pegaflow serve --ssd DIRECTORY=SIZE` uses it",
        )
    for path in paths:
        yield _look(machine, path.path, path.capacity_bytes)
    for directory in more:
        yield _look(machine, directory, None)


def _look(machine: Machine, directory: str, capacity: int | None) -> Finding:
    place = machine.path(directory)
    if capacity is not None and not place.exists():
        # The daemon makes it, but nothing above it.
        place = place.parent
    if not place.is_dir():
        evidence = f"{place} is {'no directory' if place.exists() else 'not there'}"
        text = f"{directory} cannot be used"
        remedy = f"mount its disk, or run `mkdir -p {shlex.quote(directory)}`"
        return Finding("disk", "problem", text, evidence, remedy)
    try:
        rate, space = measure(place), machine.space(place)
    except OSError as error:
        evidence = f"a file of a megabyte and more there fails: {error.strerror}"
        remedy = "make room there" if error.errno == errno.ENOSPC else _permit(place)
        return Finding("disk", "problem", f"{directory} cannot be written", evidence, remedy)
    evidence = (
        f"{format_size(rate.bytes)} written at {format_size(rate.write_bytes_s)}/s and read at "
        f"{format_size(rate.read_bytes_s)}/s in at most 1 s each, "
        f"{'with' if rate.direct else 'without'} O_DIRECT; {format_size(space.free)} of "
        f"{format_size(space.total)} free"
    )
    return _judge(directory, rate, evidence, capacity, space.total)


def _judge(
    directory: str, rate: DiskRate, evidence: str, capacity: int | None, total: int
) -> Finding:
    if not rate.direct:
        text = f"{directory} has no O_DIRECT: its blocks take the kernel's memory too"
        remedy = "use a directory on ext4 or xfs on a local disk"
        return Finding("disk", "problem", text, evidence, remedy)
    if capacity is not None and capacity > total:
        text = f"{directory} may take {format_size(capacity)}, more than its file system has"
        remedy = f"give it less than {format_size(total)}"
        return Finding("disk", "problem", text, evidence, remedy)
    if rate.read_bytes_s < _SLOW_BYTES_S:
        text = f"{directory} is slow: computing blocks again may be faster than fetching them"
        remedy = "use a local NVMe disk, or --min-benefit 2, which fetches only what is worth it"
        return Finding("disk", "note", text, evidence, remedy)
    return Finding("disk", "ok", f"{directory} can be used", evidence)


def _permit(place: Path) -> str:
    return f"run `sudo chown $USER {shlex.quote(str(place))}`, or mount it for writing"
