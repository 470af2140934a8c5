"""``pegaflow restart``: the same daemon again, with its cache."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema

from pegaflow.errors import CallTimeout
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import schema, status_document
from tests.cli.filling import save_all
from tests.cli.installed import BIN, Host, wait_ended
from tests.engine.waiting import wait_until
from tests.fence.attached_engine import AttachedEngine
from tests.fence.engine_memory import EngineMemory, Shape

SHAPE = Shape(num_blocks=16, layers=2, segment_bytes=4096)
PATIENCE_S = 60.0


def restarted(host: Host, *args: str) -> dict[str, Any]:
    done = host.run("restart", "--json", *args)
    assert (done.returncode, done.stderr) == (0, "")
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, schema("restarted"))
    return document


def test_the_cache_is_kept_and_engines_attach_again(host: Host) -> None:
    host.run("serve", "--detach")
    with AttachedEngine(host.socket, EngineMemory(SHAPE)) as engine:
        hashes = save_all(host, engine)
        before = host.status()
        document = restarted(host)
        after = host.status()
        assert (document["pid_before"], document["pid"]) == (before["pid"], after["pid"])
        assert before["boot_id"] != after["boot_id"] == document["boot_id"]
        assert document["blocks_before"] == document["blocks_kept"] == len(hashes)
        assert document["bytes_kept"] == len(hashes) * SHAPE.block_bytes
        wait_ended(before["pid"])

        def hits() -> bool:
            return engine.scheduler.attached() and engine.worker.attached()

        wait_until(hits, "the engine attaches again", PATIENCE_S)
        assert engine.hit_count(hashes) == len(hashes)


def test_the_settings_are_those_of_the_daemon_before(host: Host) -> None:
    log, pid = host.directory / "my.log", host.directory / "my.pid"
    host.run(
        *("serve", "--detach", "--pool-size=32MiB", "--eviction-policy=s3fifo", "--verify=always"),
        *("--lease-ttl=90s", f"--log-file={log}", f"--pid-file={pid}"),
    )
    before = host.status()["config"]
    other = {"PEGAFLOW_POOL_SIZE": "64MiB", "PEGAFLOW_EVICTION_POLICY": "lru"}
    done = host.run("restart", environ=other)
    assert done.returncode == 0, done.stderr
    assert f"log {log}" in done.stdout
    status = host.status()
    assert status["config"] == before
    assert pid.read_text(encoding="utf-8") == f"{status['pid']}\n"


def test_one_that_was_in_a_terminal_goes_on_in_the_background(host: Host) -> None:
    daemon = host.serve()
    document = restarted(host)
    assert daemon.wait(PATIENCE_S) == 0
    assert document["log_file"] == str(host.directory / "daemon.log")
    assert os.getsid(document["pid"]) == document["pid"]


def test_one_that_a_service_manager_started_is_started_by_it(host: Host) -> None:
    restarting = f"while :; do {BIN}/pegaflow serve; done"
    with subprocess.Popen(
        ["/bin/sh", "-c", restarting],
        env=host.environ | {"NOTIFY_SOCKET": str(host.directory / "nobody")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as manager:
        try:
            wait_until(lambda: host.run("status").returncode == 0, "it answers", PATIENCE_S)
            document = restarted(host)
            assert document["supervised"] is True
            assert document["log_file"] is None
            stat = Path(f"/proc/{document['pid']}/stat").read_text(encoding="utf-8")
            assert stat.split()[3] == str(manager.pid)
        finally:
            manager.kill()


def test_two_restarts_at_one_time_are_one_after_the_other(host: Host) -> None:
    host.run("serve", "--detach")
    before = host.status()["pid"]
    with ThreadPoolExecutor(2) as threads:
        documents = list(threads.map(lambda _: restarted(host), range(2)))
    first, second = sorted(documents, key=lambda document: document["pid_before"] != before)
    assert first["pid_before"] == before
    assert first["pid"] == second["pid_before"]
    assert second["pid"] == host.status()["pid"]


def test_a_new_daemon_that_cannot_start_is_told_with_the_end_of_the_old_one(host: Host) -> None:
    log = host.directory / "logs" / "daemon.log"
    host.run("serve", "--detach", f"--log-file={log}")
    pid = host.status()["pid"]
    log.unlink()
    log.parent.rmdir()
    log.parent.touch()
    done = host.run("restart")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pegaflow: the old daemon has ended, and cannot write log_file")
    wait_ended(pid)


def test_without_a_daemon_it_fails_as_unreachable(pegaflow: CommandLine) -> None:
    outcome = pegaflow("restart")
    assert (outcome.code, outcome.out) == (3, "")


def test_settings_that_cannot_be_used_here_cost_no_daemon(pegaflow: CommandLine) -> None:
    config = status_document()["config"] | {"eviction_policy": "of a later version"}
    pegaflow.daemon = StandInDaemon(
        "/unused", status_answer=json.dumps(status_document(config=config))
    )
    outcome = pegaflow("restart")
    assert (outcome.code, outcome.out) == (2, "")
    assert "of a later version" in outcome.err
    assert pegaflow.daemon.purges == []


def test_a_daemon_that_does_not_end_is_a_timeout(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon(
        "/unused",
        status_answer=json.dumps(status_document()),
        stop_answer=CallTimeout("pid 12 has not ended"),
    )
    assert pegaflow("restart").code == 4


def test_a_hanging_daemon_is_a_timeout(host: Host) -> None:
    host.run("serve", "--detach")
    pid = host.status()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert host.run("restart", "--timeout", "300ms").returncode == 4
    finally:
        os.kill(pid, signal.SIGCONT)


def test_what_is_not_as_it_should_be_after_it_is_a_warning(host: Host) -> None:
    # Nobody can make a directory there.
    host.run("serve", "--detach", "--ssd=/proc/pegaflow=64MiB")
    done = host.run("restart")
    assert done.returncode == 0
    assert done.stderr.startswith("pegaflow: ssd path /proc/pegaflow is offline: ")
