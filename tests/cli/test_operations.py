"""Operations on the memory tier of real daemons: by command, and over HTTP."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from pegaflow.client import Client
from pegaflow.errors import ConfigError
from tests.cli.documents import schema
from tests.cli.filling import save_all
from tests.cli.installed import Host
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import EngineMemory, Shape

SHAPE = Shape(num_blocks=16, layers=2, segment_bytes=4096)
PATIENCE_S = 60.0


def document(host: Host, name: str, *args: str) -> dict[str, Any]:
    """What a command answers to scripts, which fits the schema ``name``."""
    done = host.run(*args, "--json")
    assert done.returncode == 0, done.stderr
    progress = re.compile(r"pegaflow: [^:]*: (\d+%, .* left|no progress for .*)")
    assert all(progress.fullmatch(line) for line in done.stderr.splitlines()), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(answer, schema(name))
    return answer


def fill(host: Host) -> AttachedEngine:
    """An engine that has saved all its blocks, which have their checksums."""
    engine = AttachedEngine(host.socket, EngineMemory(SHAPE))
    save_all(host, engine)
    return engine


def test_the_memory_tier_is_listed_and_verified(host: Host) -> None:
    host.run("serve", "--detach")
    with fill(host):
        (part,) = document(host, "tiers", "tier", "list")["tiers"]
        assert (part["tier"], part["blocks"]) == ("memory", SHAPE.num_blocks)
        assert part["used_bytes"] == SHAPE.num_blocks * SHAPE.block_bytes
        assert part["path"] == host.status()["pool"]["path"]
        verified = document(host, "operated", "tier", "verify", "memory")
        assert (verified["verified"], verified["corrupt"]) == (SHAPE.num_blocks, 0)


def test_damage_is_found_and_told_by_the_exit_code(host: Host) -> None:
    host.run("serve", "--detach")
    with fill(host) as engine:
        (content,) = engine.memory.read([3])
        pool = Path(host.status()["pool"]["path"])
        with pool.open("r+b") as file:
            at = file.read().index(content[:64])
            file.seek(at)
            file.write(bytes([content[0] ^ 1]))
        done = host.run("tier", "verify", "memory")
        assert (done.returncode, done.stderr) == (5, "")
        assert "1 corrupt and dropped" in done.stdout
        assert host.run("tier", "verify", "memory").returncode == 0


def test_namespaces_are_listed_with_their_model(host: Host) -> None:
    host.run("serve", "--detach")
    with fill(host) as engine:
        (one,) = document(host, "namespaces", "namespace", "list")["namespaces"]
        assert one["namespace"] == engine.namespace.hex()
        assert (one["model"], one["blocks"]) == ("random-bytes", SHAPE.num_blocks)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["tier", "flush", "memory"], 1, "`pegaflow tier add-path PATH=SIZE` begins one"),
        (["warm"], 1, "ssd"),
        (["tier", "evict", "ssd", "10%", "--yes"], 1, "`pegaflow tier add-path PATH=SIZE`"),
        (["tier", "add-path", "/mnt/missing/a=1gb"], 2, "mount the disk there"),
        (["namespace", "pin", "ab"], 1, "no namespace begins with ab"),
        (["namespace", "pin", "xyz"], 2, "1 to 64 hexadecimal digits"),
    ],
)
def test_what_the_daemon_refuses_is_told_in_one_line(
    host: Host, args: list[str], code: int, said: str
) -> None:
    host.run("serve", "--detach")
    done = host.run(*args)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("pegaflow: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_a_field_that_the_daemon_does_not_know_is_refused(host: Host) -> None:
    host.run("serve", "--detach")
    with pytest.raises(ConfigError, match="unknown field `hurry`"):
        Client(str(host.socket)).operate("tier-verify", tier="memory", hurry=True).next()


def test_without_a_daemon_and_with_one_that_hangs_commands_say_so(host: Host) -> None:
    commands = [["warm"], ["tier", "flush", "memory"], ["namespace", "pin", "ab"]]
    for command in commands:
        assert host.run(*command).returncode == 3
    host.run("serve", "--detach")
    pid = host.status()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        for command in commands:
            done = host.run(*command, "--timeout", "300ms")
            assert (done.returncode, done.stdout) == (4, "")
            assert f"(pid {pid})" in done.stderr
    finally:
        os.kill(pid, signal.SIGCONT)


def _post(host: Host, token: str | None, fields: dict[str, Any]) -> httpx.Response:
    url = f"http://{host.status()['http_addr']}/v1/operations/tier-verify"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.post(url, json=fields, headers=headers, trust_env=False, timeout=PATIENCE_S)


def test_http_changes_something_with_the_token_only(host: Host) -> None:
    token, file = os.urandom(16).hex(), host.directory / "token"
    file.write_text(f"{token}\n", encoding="utf-8")
    file.chmod(0o600)
    assert host.run("serve", "--detach", "--http-token-file", str(file)).returncode == 0
    fields = {"tier": "memory"}
    assert [_post(host, given, fields).status_code for given in (None, "x" * 32)] == [401, 401]
    answer = _post(host, token, fields)
    assert answer.status_code == 200
    jsonschema.validate(answer.json(), schema("operated"))
    assert token not in (host.directory / "daemon.log").read_text(encoding="utf-8")


def test_http_changes_nothing_without_a_token_file(host: Host) -> None:
    host.run("serve", "--detach")
    answer = _post(host, "x" * 32, {"tier": "memory"})
    assert answer.status_code == 403
    assert "--http-token-file" in answer.json()["error"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_token_file_that_others_can_read_is_refused(host: Host, mode: int) -> None:
    file = host.directory / "token"
    file.write_text(os.urandom(16).hex(), encoding="utf-8")
    file.chmod(mode)
    done = host.run("serve", "--http-token-file", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"has mode {mode:04o}" in done.stderr
    done = host.run("config", "check", environ={"PEGAFLOW_HTTP_TOKEN_FILE": str(file)})
    assert done.returncode == 5
    assert f"has mode {mode:04o}" in done.stdout
