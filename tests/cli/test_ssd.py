"""The ssd tier of real daemons, as its users see and change it."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.documents import schema
from tests.cli.installed import Host
from tests.cli.test_operations import PATIENCE_S, document
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine, fresh_hashes
from tests.fence.engine_memory import EngineMemory, Shape

SHAPE = Shape(num_blocks=64, layers=2, segment_bytes=32 << 10)
ALL_BYTES = SHAPE.num_blocks * SHAPE.block_bytes
SLOW = "64KiB"
"""A rate at which loading all blocks takes longer than any test waits for the first."""


class Cache:
    """A host whose daemon keeps blocks on ssd, and the engine that has saved them."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.path = host.directory / "ssd"
        self.hashes = fresh_hashes(SHAPE.num_blocks)
        self.memory = EngineMemory(SHAPE)
        self.contents = self.memory.refill(range(SHAPE.num_blocks))
        self.namespace = os.urandom(32)

    def serve(self, *args: str) -> None:
        """Start the daemon."""
        done = self.host.run("serve", "--detach", f"--ssd={self.path}=64MiB", *args)
        assert done.returncode == 0, done.stderr

    def engine(self) -> AttachedEngine:
        """An engine of the same model each time."""
        return AttachedEngine(self.host.socket, self.memory, self.namespace)

    def fill(self) -> None:
        """Save all blocks, and have them on ssd."""
        with self.engine() as engine:
            assert engine.save(self.hashes, range(SHAPE.num_blocks)).ok
        flushed = document(self.host, "operated", "tier", "flush", "memory")
        assert flushed["cancelled"] is False
        assert self.tier("ssd")["blocks"] == SHAPE.num_blocks

    def lose_memory(self, *args: str) -> None:
        """Kill the daemon, free its memory, and start another one."""
        os.kill(self.host.status()["pid"], signal.SIGKILL)
        wait_until(
            lambda: self.host.run("stop", "--purge").returncode == 0, "memory is free", PATIENCE_S
        )
        self.serve(*args)
        assert self.tier("ssd")["blocks"] == SHAPE.num_blocks
        if "--warm-on-start" not in args:
            assert self.tier("memory")["blocks"] == 0

    def tier(self, name: str) -> dict[str, Any]:
        """The one part of a tier."""
        parts = document(self.host, "tiers", "tier", "list")["tiers"]
        (part,) = [part for part in parts if part["tier"] == name]
        assert isinstance(part, dict)
        return part

    def warming(self) -> dict[str, Any] | None:
        """The last warming, as the status has it."""
        warming: dict[str, Any] | None = self.host.status()["ssd"]["warming"]
        return warming

    def wait_warming(self, state: str) -> None:
        """Wait until a warming has loaded something, and is in this state."""

        def is_reached() -> bool:
            warming = self.warming()
            return warming is not None and (
                warming["state"] == state and warming["fetched_blocks"] > 0
            )

        wait_until(is_reached, f"the warming is {state}", PATIENCE_S)

    def check_contents(self) -> None:
        """All blocks are in memory, and what they were."""
        with self.engine() as engine:
            self.memory.refill(range(SHAPE.num_blocks))
            assert engine.load(self.hashes, range(SHAPE.num_blocks)).ok
            assert self.memory.read(range(SHAPE.num_blocks)) == self.contents


@pytest.fixture
def cache(host: Host) -> Iterator[Cache]:
    cache = Cache(host)
    cache.serve()
    cache.fill()
    yield cache


def test_warming_brings_back_what_memory_has_lost(cache: Cache) -> None:
    cache.lose_memory()
    plan = document(cache.host, "operated", "warm", "--from", "ssd", "--dry-run")
    assert (plan["planned_blocks"], plan["planned_bytes"]) == (SHAPE.num_blocks, ALL_BYTES)
    assert (plan["blocks"], cache.tier("memory")["blocks"]) == (0, 0)
    warmed = document(cache.host, "operated", "warm", "--from", "ssd")
    assert (warmed["blocks"], warmed["bytes"]) == (SHAPE.num_blocks, ALL_BYTES)
    assert cache.tier("memory")["blocks"] == SHAPE.num_blocks
    cache.check_contents()
    again = document(cache.host, "operated", "warm")
    assert (again["blocks"], again["present_blocks"]) == (0, SHAPE.num_blocks)


@pytest.mark.parametrize("limit", ["50%", "1MiB"])
def test_a_warming_loads_no_more_than_its_limit(cache: Cache, limit: str) -> None:
    cache.lose_memory()
    warmed = document(cache.host, "operated", "warm", "--limit", limit)
    most = (8 << 20) if limit == "50%" else (1 << 20)
    assert min(ALL_BYTES, most) - SHAPE.block_bytes < warmed["bytes"] <= most


def test_a_warming_loads_one_namespace_if_asked_to(cache: Cache) -> None:
    other = os.urandom(32)
    while other[0] == cache.namespace[0]:
        other = os.urandom(32)
    with AttachedEngine(cache.host.socket, cache.memory, other) as engine:
        assert engine.save(fresh_hashes(4), range(4)).ok
    document(cache.host, "operated", "tier", "flush", "memory")
    os.kill(cache.host.status()["pid"], signal.SIGKILL)
    wait_until(
        lambda: cache.host.run("stop", "--purge").returncode == 0, "memory is free", PATIENCE_S
    )
    cache.serve()
    warmed = document(cache.host, "operated", "warm", "--namespace", other.hex()[:2])
    assert warmed["blocks"] == 4


def test_ctrl_c_keeps_what_is_loaded_and_another_warming_goes_on(cache: Cache) -> None:
    cache.lose_memory()
    with cache.host.start("warm", "--rate", SLOW) as warming:
        cache.wait_warming("running")
        warming.send_signal(signal.SIGINT)
        out, err = warming.communicate(timeout=PATIENCE_S)
    assert warming.returncode == 130
    assert out.startswith("interrupted: ")
    assert all(line.startswith("pegaflow: warm: ") for line in err.splitlines())
    ended = cache.warming()
    assert ended is not None
    assert ended["state"] == "cancelled"
    loaded = cache.tier("memory")["blocks"]
    assert 0 < loaded < SHAPE.num_blocks
    rest = document(cache.host, "operated", "warm")
    assert (rest["present_blocks"], rest["blocks"]) == (loaded, SHAPE.num_blocks - loaded)
    cache.check_contents()


def test_a_client_that_vanishes_ends_its_warming(cache: Cache) -> None:
    cache.lose_memory()
    with cache.host.start("warm", "--rate", SLOW) as warming:
        cache.wait_warming("running")
        warming.kill()
    cache.wait_warming("cancelled")


def test_a_closed_http_connection_ends_its_warming(cache: Cache) -> None:
    token, file = os.urandom(16).hex(), cache.host.directory / "token"
    file.write_text(token, encoding="utf-8")
    file.chmod(0o600)
    cache.lose_memory(f"--http-token-file={file}")
    address, _, port = cache.host.status()["http_addr"].rpartition(":")
    body = json.dumps({"from": "ssd", "rate_bytes_per_s": 64 << 10})
    with socket.create_connection((address, int(port))) as connection:
        connection.sendall(
            f"POST /v1/operations/warm HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        cache.wait_warming("running")
    cache.wait_warming("cancelled")


def test_a_stop_ends_a_warming_and_the_command_says_so(cache: Cache) -> None:
    cache.lose_memory()
    with cache.host.start("warm", "--rate", SLOW) as warming:
        cache.wait_warming("running")
        assert cache.host.run("stop").returncode == 0
        _, err = warming.communicate(timeout=PATIENCE_S)
    assert warming.returncode == 1
    assert "the daemon ended it early" in err


def test_the_start_warms_by_itself_if_asked_to(cache: Cache) -> None:
    cache.lose_memory("--warm-on-start")
    cache.wait_warming("done")
    cache.check_contents()


def test_two_warmings_at_once_are_one_too_many(cache: Cache) -> None:
    cache.lose_memory()
    with cache.host.start("warm", "--rate", SLOW) as warming:
        cache.wait_warming("running")
        second = cache.host.run("warm")
        assert (second.returncode, second.stdout) == (1, "")
        assert "is being warmed already" in second.stderr
        plan = document(cache.host, "operated", "warm", "--dry-run")
        assert 0 < plan["planned_blocks"] < SHAPE.num_blocks
        warming.kill()


def test_a_restarted_daemon_has_the_same_tiers(cache: Cache) -> None:
    before = cache.host.status()
    jsonschema.validate(before, schema("status"))
    assert cache.host.run("restart").returncode == 0
    after = cache.host.status()
    assert after["boot_id"] != before["boot_id"]
    assert after["config"] == before["config"]
    assert after["ssd"]["blocks"] == SHAPE.num_blocks
    (space,) = after["namespaces"]
    assert space["ssd_blocks"] == space["blocks"] == SHAPE.num_blocks


def test_people_see_the_tier_in_the_status(cache: Cache) -> None:
    said = cache.host.run("status").stdout
    assert f"{SHAPE.num_blocks} blocks, {cache.path} (online, " in said
    listed = cache.host.run("tier", "list").stdout
    assert re.search(rf"^ssd +online +.* 64 MiB +{SHAPE.num_blocks} +{cache.path}$", listed, re.M)


def test_a_path_that_goes_and_comes_back_keeps_its_blocks(cache: Cache) -> None:
    path, more = str(cache.path), str(cache.host.directory / "more")
    added = document(cache.host, "operated", "tier", "add-path", f"{more}=64MiB")
    assert (added["path"], added["blocks"]) == (more, 0)
    removed = document(cache.host, "operated", "tier", "remove-path", path)
    assert (removed["path"], removed["blocks"]) == (path, SHAPE.num_blocks)
    assert cache.tier("ssd")["path"] == more
    assert any(cache.path.iterdir())
    back = document(cache.host, "operated", "tier", "add-path", f"{path}=64MiB")
    assert back["blocks"] == SHAPE.num_blocks
    done = cache.host.run("tier", "remove-path", path, "--delete-files", "--yes")
    assert done.returncode == 0, done.stderr
    assert not cache.path.exists() or not any(cache.path.iterdir())


def test_a_path_may_be_resized(cache: Cache) -> None:
    resized = document(cache.host, "operated", "tier", "resize", "ssd", "128MiB")
    assert (resized["before_bytes"], resized["size_bytes"]) == (64 << 20, 128 << 20)
    assert cache.tier("ssd")["capacity_bytes"] == 128 << 20


def test_evicting_all_of_it_empties_it(cache: Cache) -> None:
    evicted = document(cache.host, "operated", "tier", "evict", "ssd", "100%", "--yes")
    assert evicted["blocks"] == SHAPE.num_blocks
    assert cache.tier("ssd")["blocks"] == 0


def test_evicting_a_namespace_takes_it_from_all_tiers(cache: Cache) -> None:
    name = cache.namespace.hex()
    evicted = document(cache.host, "operated", "namespace", "evict", name[:8], "--yes")
    assert (evicted["namespace"], evicted["ssd_blocks"]) == (name, SHAPE.num_blocks)
    assert (cache.tier("ssd")["blocks"], cache.tier("memory")["blocks"]) == (0, 0)


def test_memory_may_be_drained_to_it(cache: Cache) -> None:
    drained = document(cache.host, "operated", "tier", "drain", "memory", "--yes")
    assert (drained["blocks"], drained["kept_blocks"]) == (SHAPE.num_blocks, 0)
    assert cache.tier("memory")["blocks"] == 0
    assert document(cache.host, "operated", "warm")["blocks"] == SHAPE.num_blocks
    cache.check_contents()


def test_verifying_finds_a_changed_byte(cache: Cache) -> None:
    verified = document(cache.host, "operated", "tier", "verify", "ssd")
    assert (verified["verified"], verified["corrupt"]) == (SHAPE.num_blocks, 0)
    needle = cache.contents[7][:64]
    (segment, at) = next(
        (file, content.index(needle))
        for file in sorted(cache.path.rglob("*"))
        if file.is_file() and needle in (content := file.read_bytes())
    )
    with segment.open("r+b") as file:
        file.seek(at)
        file.write(bytes([needle[0] ^ 1]))
        file.flush()
        os.fsync(file.fileno())
    done = cache.host.run("tier", "verify", "ssd", "--path", str(cache.path))
    assert (done.returncode, done.stderr) == (5, "")
    assert "1 corrupt and dropped" in done.stdout
    assert cache.tier("ssd")["blocks"] == SHAPE.num_blocks - 1


@pytest.mark.parametrize("kind", ["a file", "another daemon's"])
def test_a_path_that_no_tier_can_have_is_refused(cache: Cache, kind: str) -> None:
    file = cache.host.directory / "file"
    file.touch()
    path = file if kind == "a file" else cache.path
    other = {"PEGAFLOW_SOCKET": str(cache.host.directory / "other.sock")}
    done: subprocess.CompletedProcess[str] = cache.host.run(
        "serve", f"--ssd={path}=64MiB", environ=other
    )
    assert (done.returncode in (1, 2), done.stdout) == (True, "")
    assert str(path) in done.stderr
    refused = cache.host.run("tier", "add-path", f"{path}=64MiB")
    assert refused.returncode in (1, 2)
    assert str(path) in refused.stderr
    assert Path(path).exists()


@pytest.mark.parametrize("text", ["ssd=64MiB", "./ssd=64MiB", "/mnt/ssd", "/mnt/ssd=1MiB"])
def test_a_path_or_size_that_cannot_be_is_refused_at_the_start(host: Host, text: str) -> None:
    done = host.run("serve", "--ssd", text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    checked = host.run("config", "check", environ={"PEGAFLOW_SSD": text})
    assert checked.returncode == 5


def test_a_path_that_is_offline_at_the_start_is_a_warning(host: Host) -> None:
    # Nobody can make a directory there.
    done = host.run("serve", "--detach", "--json", "--ssd=/proc/pegaflow=64MiB")
    assert done.returncode == 0
    (warning,) = json.loads(done.stdout)["warnings"]
    assert warning.startswith("ssd path /proc/pegaflow is offline: ")
    assert done.stderr == f"pegaflow: {warning}\n"


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ("/mnt/a=64MiB,/mnt/a/b=64MiB", "one in the other"),
        ("/mnt/a\nb=64MiB", "printable UTF-8"),
        ("/mnt/a=31MiB", "give an ssd path at least 33554432"),
    ],
)
def test_paths_that_no_tier_can_have_are_refused_alike(host: Host, paths: str, said: str) -> None:
    for command, code in ((["serve", f"--ssd={paths}"], 2), (["config", "check"], 5)):
        done = host.run(*command, environ={"PEGAFLOW_SSD": paths})
        assert done.returncode == code
        assert said in done.stdout + done.stderr
