"""The size of an automatic pool, on machines that the tests describe."""

from pathlib import Path

import pytest

from pegaflow.config import DaemonConfig, load
from pegaflow.config.pool import DIRECTORY_SHARE, MEMORY_SHARE, auto_pool
from pegaflow.errors import ConfigError

GIB = 1 << 30
GRAIN = 2 << 20


def _proc(tmp_path: Path, free: int) -> Path:
    (tmp_path / "meminfo").write_text(
        f"MemTotal: 1 kB\nMemAvailable: {free // 1024} kB\n", encoding="utf-8"
    )
    return tmp_path


def _cgroup(path: Path, limit: str, current: int) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "memory.max").write_text(f"{limit}\n", encoding="utf-8")
    (path / "memory.current").write_text(f"{current}\n", encoding="utf-8")
    return path


def test_it_takes_its_share_of_free_memory(tmp_path: Path) -> None:
    pool = auto_pool(str(tmp_path), proc=_proc(tmp_path, GIB), cgroup=tmp_path / "none")
    assert pool.size == GIB * MEMORY_SHARE
    assert pool.reason == "50% of 1 GiB of free memory"


def test_it_stays_within_the_control_group_and_those_above_it(tmp_path: Path) -> None:
    _cgroup(tmp_path / "above", str(200 * GRAIN), 100 * GRAIN)
    group = _cgroup(tmp_path / "above/own", "max", 5 * GRAIN)
    pool = auto_pool(str(tmp_path), proc=_proc(tmp_path, GIB), cgroup=group)
    assert pool.size == 50 * GRAIN


def test_it_leaves_room_in_its_directory(tmp_path: Path) -> None:
    pool = auto_pool("/dev/shm", proc=_proc(tmp_path, 1 << 50), cgroup=tmp_path / "none")
    assert "free in /dev/shm" in pool.reason
    assert f"{DIRECTORY_SHARE:.0%} of " in pool.reason


def test_a_tiny_shared_memory_does_not_make_a_tiny_pool(tmp_path: Path) -> None:
    pool = auto_pool(
        None,
        proc=_proc(tmp_path, 1 << 50),
        cgroup=tmp_path / "none",
        shared_memory=tmp_path,
    )
    assert pool.size == (1 << 50) * MEMORY_SHARE
    assert "of free memory" in pool.reason


def test_no_shared_memory_at_all_is_no_error(tmp_path: Path) -> None:
    pool = auto_pool(
        None,
        proc=_proc(tmp_path, GIB),
        cgroup=tmp_path / "none",
        shared_memory=tmp_path / "none",
    )
    assert pool.size == GIB * MEMORY_SHARE


def test_no_room_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pool_size = auto finds no room: .*; free some, or set"):
        auto_pool(str(tmp_path), proc=_proc(tmp_path, GRAIN), cgroup=tmp_path / "none")


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the pool's directory /nonexistent cannot be used"):
        auto_pool("/nonexistent", proc=_proc(tmp_path, GIB), cgroup=tmp_path / "none")


def test_the_daemon_learns_where_its_size_is_from() -> None:
    environ = {"HOME": "/nonexistent"}
    automatic = DaemonConfig.of(load(environ=environ))
    assert automatic.pool_size_origin.startswith("auto, ")
    assert automatic.pool_bytes % GRAIN == 0
    given = DaemonConfig.of(load({"pool_size": "64MiB"}, environ=environ))
    assert (given.pool_bytes, given.pool_size_origin) == (64 << 20, "--pool-size")
