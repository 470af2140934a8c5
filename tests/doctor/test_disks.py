"""Disks of the ssd tier: found, measured, judged."""

import os
from pathlib import Path

import pytest

from pegaflow.config.ssd import SsdPath
from pegaflow.doctor import disks
from pegaflow.doctor.disk_rate import DiskRate, measure
from tests.doctor.fake_machine import GIB, machine

FAST = DiskRate(direct=True, bytes=256 << 20, write_bytes_s=2 * GIB, read_bytes_s=5 * GIB)


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "mnt/nvme0/pegaflow").mkdir(parents=True)
    return "/mnt/nvme0/pegaflow"


def _measured(monkeypatch: pytest.MonkeyPatch, rate: DiskRate | OSError) -> None:
    def stand_in(directory: Path) -> DiskRate:
        if isinstance(rate, OSError):
            raise rate
        return rate

    monkeypatch.setattr("pegaflow.doctor.disks.measure", stand_in)


def test_without_an_ssd_tier_nothing_is_measured(tmp_path: Path) -> None:
    (found,) = disks.check(machine(tmp_path), [])
    assert (found.level, "--disk" in str(found.remedy)) == ("note", True)


def test_a_fast_disk_has_its_rates_told(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _measured(monkeypatch, FAST)
    (found,) = disks.check(machine(tmp_path), [SsdPath(place, GIB)])
    assert (found.level, found.remedy) == ("ok", None)
    assert "2 GiB/s and read at 5 GiB/s" in found.evidence
    assert "with O_DIRECT; 32 GiB of 64 GiB free" in found.evidence


@pytest.mark.parametrize(
    ("rate", "capacity", "level", "said"),
    [
        (DiskRate(False, 1, GIB, GIB), GIB, "problem", "no O_DIRECT"),
        (FAST, 65 * GIB, "problem", "more than its file system has"),
        (DiskRate(True, 1, GIB, 100 << 20), GIB, "note", "slow"),
        (OSError(28, "No space left on device"), GIB, "problem", "cannot be written"),
        (OSError(30, "Read-only file system"), GIB, "problem", "cannot be written"),
    ],
)
def test_what_is_wrong_with_a_disk_is_told(
    tmp_path: Path,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    rate: DiskRate | OSError,
    capacity: int,
    level: str,
    said: str,
) -> None:
    _measured(monkeypatch, rate)
    (found,) = disks.check(machine(tmp_path), [SsdPath(place, capacity)])
    assert (found.level, said in found.text, bool(found.remedy)) == (level, True, True)


def test_a_path_that_the_daemon_makes_is_measured_one_level_up(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _measured(monkeypatch, FAST)
    (made, missing) = disks.check(
        machine(tmp_path), [SsdPath(f"{place}/new", GIB), SsdPath("/mnt/none/new", GIB)]
    )
    assert (made.level, missing.level) == ("ok", "problem")


def test_a_directory_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    (found,) = disks.check(machine(tmp_path), [], ["/mnt/none"])
    assert (found.level, "mkdir -p /mnt/none" in str(found.remedy)) == ("problem", True)


def test_measuring_moves_bytes_and_leaves_nothing(tmp_path: Path) -> None:
    descriptors = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    rate = measure(tmp_path)
    assert rate.bytes > 0
    assert min(rate.write_bytes_s, rate.read_bytes_s) > 0
    assert list(tmp_path.iterdir()) == []
    assert set(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208
