"""What a daemon cannot be started with: one error that names the value and the remedy."""

import json
import os
import shlex
from collections.abc import Sequence

import pytest

from tests.cli.installed import BIN, Host


def _in_mounts(*mounts: str) -> Sequence[str]:
    """A command that runs another with these mounts of its own, as root in a name space."""
    root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    script = " && ".join([*(f"mount {mount}" for mount in mounts), 'exec "$@"'])
    return ["unshare", *root, "--mount", "sh", "-c", script, "sh"]


def _refused(host: Host, *args: str, around: Sequence[str] = ()) -> str:
    """The one line with which ``serve`` refuses to start, as a mistake in the settings."""
    done = host.run("serve", *args, around=around)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("pegaflow: ")]
    assert len(lines) == 1, done.stderr
    assert not host.socket.exists()
    return lines[0]


def test_a_pool_larger_than_memory(host: Host) -> None:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    said = _refused(host, "--pool-size", str(memory + (1 << 30)))
    assert f"{memory + (1 << 30)} bytes" in said
    assert "--pool-size" in said


def test_a_pool_directory_that_is_no_memory(host: Host) -> None:
    said = _refused(host, "--pool-dir", "/proc")
    assert "/proc is on procfs, allowed are hugetlbfs and tmpfs" in said


def test_a_pool_directory_that_does_not_exist(host: Host) -> None:
    assert "/nonexistent" in _refused(host, "--pool-dir", "/nonexistent")


def test_a_given_pool_directory_without_room(host: Host) -> None:
    small = host.directory / "small"
    small.mkdir()
    around = _in_mounts(f"-t tmpfs -o size=8m none {small}")
    said = _refused(host, "--pool-dir", str(small), "--pool-size", "64MiB", around=around)
    assert str(small) in said


def test_a_pool_directory_on_a_read_only_mount(host: Host) -> None:
    mount = host.directory / "mount"
    mount.mkdir()
    around = _in_mounts(f"-t tmpfs -o ro none {mount}")
    said = _refused(host, "--pool-dir", str(mount), around=around)
    assert str(mount) in said
    assert "read-only" in said.lower()


@pytest.mark.parametrize("option", [[], ["--detach"]])
def test_a_socket_on_a_read_only_mount(host: Host, option: list[str]) -> None:
    mount = host.directory / "mount"
    mount.mkdir()
    around = _in_mounts(f"-t tmpfs -o ro none {mount}")
    said = _refused(host, "--socket", str(mount / "daemon.sock"), *option, around=around)
    assert str(mount) in said
    assert "read-only" in said.lower()


def test_a_socket_whose_path_is_too_long(host: Host) -> None:
    said = _refused(host, "--socket", "/tmp/" + "x" * 120)
    assert "at most 107 bytes" in said


def test_a_group_that_does_not_exist(host: Host) -> None:
    assert "no-such-group" in _refused(host, "--socket-group", "no-such-group")


def test_a_setting_that_does_not_exist(host: Host) -> None:
    file = host.directory / "config.toml"
    file.write_text("pool_sise = 1\n", encoding="utf-8")
    assert "did you mean pool_size?" in _refused(host, "--config", str(file))


def test_an_http_address_that_is_not_of_this_host(host: Host) -> None:
    assert "192.0.2.1:9091" in _refused(host, "--http-addr", "192.0.2.1:9091")


# A container has 64 MiB there, which a pool of that size would fill without its slot table.
@pytest.mark.parametrize("room", ["8m", "64m"])
def test_a_pool_without_room_in_shared_memory_falls_back_with_a_warning(
    host: Host, room: str
) -> None:
    pegaflow = shlex.quote(str(BIN / "pegaflow"))
    script = (
        f"mount -t tmpfs -o size={room} none /dev/shm; "
        f"{pegaflow} serve --detach --pool-size 64MiB && {pegaflow} status --json; echo $?; "
        f"{pegaflow} stop"
    )
    root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    done = host.run("-c", script, program="/bin/sh", around=["unshare", *root, "--mount"])
    lines = done.stdout.splitlines()
    pool = json.loads(lines[1])["pool"]
    assert (pool["kind"], pool["path"], pool["bytes"]) == ("memfd", None, 64 << 20)
    assert "does not fit in /dev/shm" in pool["fallback"]
    assert lines[2] == "0"
    assert "does not fit in /dev/shm" in (host.directory / "daemon.log").read_text(encoding="utf-8")
