"""The size of an automatic pool, on machines that the tests describe."""

from pathlib import Path

import pytest

from pegaflow.config import DaemonConfig, load
from pegaflow.config.pool import DIRECTORY_SHARE, MEMORY_SHARE, AutoPool, auto_pool
from pegaflow.errors import ConfigError
from tests.config.made_up_machine import MadeUpMachine

GIB = 1 << 30
GRAIN = 2 << 20
ENDLESS = 1 << 50


def _cgroup(path: Path, limit: str, current: int) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "memory.max").write_text(f"{limit}\n", encoding="utf-8")
    (path / "memory.current").write_text(f"{current}\n", encoding="utf-8")
    return path


def test_it_takes_its_share_of_free_memory(tmp_path: Path) -> None:
    pool = MadeUpMachine(tmp_path, memory=GIB, room=ENDLESS).pool(str(tmp_path))
    assert pool == AutoPool(int(GIB * MEMORY_SHARE), "50% of 1 GiB of free memory")


def test_it_stays_within_the_control_group_and_those_above_it(tmp_path: Path) -> None:
    _cgroup(tmp_path / "above", str(200 * GRAIN), 100 * GRAIN)
    group = _cgroup(tmp_path / "above/own", "max", 5 * GRAIN)
    pool = MadeUpMachine(tmp_path, memory=GIB, room=ENDLESS, cgroup=group).pool(str(tmp_path))
    assert pool.size == 50 * GRAIN


def test_what_a_control_group_has_read_from_files_is_no_memory_in_use(tmp_path: Path) -> None:
    group = _cgroup(tmp_path / "own", str(200 * GRAIN), 199 * GRAIN)
    stat = f"anon {9 * GRAIN}\ninactive_file {150 * GRAIN}\nactive_file {40 * GRAIN}\n"
    (group / "memory.stat").write_text(stat, encoding="utf-8")
    pool = MadeUpMachine(tmp_path, memory=GIB, room=ENDLESS, cgroup=group).pool(str(tmp_path))
    assert pool.size == 75 * GRAIN


@pytest.mark.parametrize("is_given", [True, False])
def test_it_leaves_room_in_its_directory(tmp_path: Path, is_given: bool) -> None:
    machine = MadeUpMachine(tmp_path, memory=GIB + GIB // 2, room=300 * GRAIN)
    pool = machine.pool(str(tmp_path) if is_given else None)
    assert pool.size == 270 * GRAIN
    assert pool.reason == f"{DIRECTORY_SHARE:.0%} of 600 MiB free in {tmp_path}"


def test_a_tiny_shared_memory_does_not_make_a_tiny_pool(tmp_path: Path) -> None:
    pool = MadeUpMachine(tmp_path, memory=GIB, room=64 << 20).pool(None)
    assert pool == AutoPool(int(GIB * MEMORY_SHARE), "50% of 1 GiB of free memory")


def test_no_shared_memory_at_all_is_no_error(tmp_path: Path) -> None:
    machine = MadeUpMachine(tmp_path, memory=GIB, room=ENDLESS)
    assert machine.pool(None, shared_memory=tmp_path / "none").size == GIB * MEMORY_SHARE


def test_no_room_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pool_size = auto finds no room: .*; free some, or set"):
        MadeUpMachine(tmp_path, memory=GRAIN, room=ENDLESS).pool(str(tmp_path))


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the pool's directory /nonexistent cannot be used"):
        MadeUpMachine(tmp_path, memory=GIB, room=ENDLESS).pool("/nonexistent")


def test_this_machine_is_asked_without_an_error(tmp_path: Path) -> None:
    try:
        assert auto_pool(None).size % GRAIN == 0
    except ConfigError as error:
        # Its memory may be full.
        assert "finds no room" in str(error)


def test_the_daemon_learns_where_its_size_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = MadeUpMachine(tmp_path, memory=GIB, room=ENDLESS)
    monkeypatch.setattr("pegaflow.config.daemon.auto_pool", machine.pool)
    environ = {"HOME": "/nonexistent"}
    automatic = DaemonConfig.of(load(environ=environ))
    assert automatic.pool_size_origin == "auto, 50% of 1 GiB of free memory"
    assert automatic.pool_bytes == GIB * MEMORY_SHARE
    given = DaemonConfig.of(load({"pool_size": "64MiB"}, environ=environ))
    assert (given.pool_bytes, given.pool_size_origin) == (64 << 20, "--pool-size")
