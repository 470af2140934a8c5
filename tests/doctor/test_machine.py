"""What the kernel's files say, and what doctor makes of it."""

import dataclasses
import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pegaflow.doctor import (
    huge_pages,
    io_uring,
    kernel,
    memlock,
    numa,
    ptrace,
    shared_memory,
)
from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine, Space
from pegaflow.doctor.this_machine import try_ring
from tests.doctor.fake_machine import GIB, HEALTHY, machine

Check = Callable[[Machine], Iterator[Finding]]
CHECKS = [kernel, memlock, shared_memory, huge_pages, numa, ptrace, io_uring]
LIMITS = "Max locked memory         65536                65536                bytes\n"
NO_PAGES = (
    "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n"
    "HugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n"
)
NVIDIA = "/proc/driver/nvidia/version"


def test_a_healthy_machine_has_nothing_to_be_done(tmp_path: Path) -> None:
    found = [one for check in CHECKS for one in check.check(machine(tmp_path))]
    assert [(one.level, one.remedy) for one in found] == [("ok", None)] * len(CHECKS)
    assert all(one.evidence for one in found)


@pytest.mark.parametrize(
    ("check", "changes", "level", "said", "remedy"),
    [
        (kernel, {"/proc/sys/kernel/osrelease": "4.18.0-553.el8"}, "problem", "4.18.0", "5.3"),
        (memlock, {"/proc/self/limits": LIMITS}, "note", "64 KiB", "ulimit -l unlimited"),
        (
            memlock,
            {"/proc/self/limits": LIMITS, NVIDIA: "x"},
            "problem",
            "pinned",
            "LimitMEMLOCK=infinity",
        ),
        (shared_memory, {"/proc/self/mounts": "/dev/sda / ext4 rw 0 0"}, "problem", "tmpfs", "-o"),
        (
            huge_pages,
            {"/proc/meminfo": NO_PAGES},
            "note",
            "none are reserved",
            "sysctl vm.nr_hugepages=8192",
        ),
        (
            huge_pages,
            {"/proc/self/mounts": "tmpfs /dev/shm tmpfs rw 0 0"},
            "problem",
            "2 GiB are reserved",
            "mount -t hugetlbfs",
        ),
        (huge_pages, {"/proc/meminfo": ""}, "note", "no huge pages", None),
        (
            numa,
            {"/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal: 1048576 kB\n"},
            "note",
            "2 nodes",
            "numactl --cpunodebind",
        ),
        (
            ptrace,
            {"/proc/sys/kernel/yama/ptrace_scope": "2"},
            "problem",
            "CAP_SYS_PTRACE",
            "sysctl kernel.yama.ptrace_scope=1",
        ),
        (ptrace, {"/proc/sys/kernel/yama/ptrace_scope": "3"}, "problem", "no process", "boot"),
    ],
)
def test_what_is_wrong_has_evidence_and_a_remedy(
    tmp_path: Path,
    check: object,
    changes: dict[str, str],
    level: str,
    said: str,
    remedy: str | None,
) -> None:
    (found,) = check.check(machine(tmp_path, changes))  # type: ignore[attr-defined]
    assert found.level == level
    assert said in found.text
    assert (remedy is None and found.remedy is None) or str(remedy) in str(found.remedy)


def test_a_daemon_with_the_capability_may_trace_under_yama_2(tmp_path: Path) -> None:
    changes = {
        "/proc/sys/kernel/yama/ptrace_scope": "2",
        "/proc/self/status": "Name:\tpython\nCapEff:\t0000000000080000\n",
    }
    (found,) = ptrace.check(machine(tmp_path, changes))
    assert found.level == "ok"
    assert "CAP_SYS_PTRACE" in found.evidence


def test_a_container_s_small_shared_memory_is_a_problem(tmp_path: Path) -> None:
    (found,) = shared_memory.check(machine(tmp_path, free=64 << 20))
    assert (found.level, "64 MiB" in found.text) == ("problem", True)
    assert "--shm-size=32g" in str(found.remedy)


def test_room_for_the_pool_is_enough(tmp_path: Path) -> None:
    (found,) = shared_memory.check(machine(tmp_path, free=8 * GIB))
    assert found.level == "ok"


def test_a_pool_is_sized_for_the_huge_pages_that_are_mounted(tmp_path: Path) -> None:
    (found,) = huge_pages.check(machine(tmp_path, {"/proc/meminfo": NO_PAGES}))
    assert "--pool-dir /mnt/huge" in str(found.remedy)
    assert "mount -t" not in str(found.remedy)


@pytest.mark.parametrize(
    ("code", "switch", "remedy"),
    [
        (errno.ENOSYS, None, "5.6"),
        (errno.EPERM, "2", "sysctl kernel.io_uring_disabled=0"),
        (errno.EPERM, "0", "seccomp"),
    ],
)
def test_why_there_is_no_io_uring_decides_what_to_do(
    tmp_path: Path, code: int, switch: str | None, remedy: str
) -> None:
    fake = machine(tmp_path, {"/proc/sys/kernel/io_uring_disabled": switch}, ring=code)
    (found,) = io_uring.check(fake)
    assert found.level == "note"
    assert errno.errorcode[code] in found.evidence
    assert remedy in str(found.remedy)


def test_io_uring_that_works_is_all_right(tmp_path: Path) -> None:
    (found,) = io_uring.check(machine(tmp_path))
    assert (found.level, found.remedy) == ("ok", None)


def test_trying_leaves_no_ring_behind() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    try_ring()
    assert set(Path("/proc/self/fd").iterdir()) == before


def _no_file_system(path: Path) -> Space:
    raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))


def test_a_machine_without_any_of_the_files_is_looked_at_too(tmp_path: Path) -> None:
    bare = dataclasses.replace(machine(tmp_path, dict.fromkeys(HEALTHY)), space=_no_file_system)
    found = [one for check in CHECKS for one in check.check(bare)]
    assert {one.check: one.level for one in found} == {
        "kernel": "note",
        "memlock": "ok",
        "shm": "problem",
        "huge pages": "note",
        "numa": "ok",
        "ptrace": "ok",
        "io_uring": "ok",
    }
