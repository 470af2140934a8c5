"""Real daemons, started, asked and stopped by the installed commands."""

import json
import os
import signal
from pathlib import Path

import jsonschema
import pytest

from tests.cli.documents import schema
from tests.cli.installed import BIN, Host, wait_ended
from tests.engine.waiting import wait_until


def test_it_says_one_line_answers_and_ends(host: Host) -> None:
    daemon = host.serve("--json")
    status = host.status()
    jsonschema.validate(status, schema("status"))
    assert status["pid"] == daemon.pid
    assert status["socket"] == str(host.socket)
    assert status["pool"]["bytes"] == 16 << 20
    assert status["config"]["pool_size_origin"] == "PEGAFLOW_POOL_SIZE"
    assert host.run("stop").returncode == 0
    rest, _ = daemon.communicate(timeout=10)
    assert (daemon.returncode, rest) == (0, "")


def test_what_it_says_is_a_document(host: Host) -> None:
    host.run("serve", "--detach")
    status = host.status()
    host.run("stop")
    done = host.run("serve", "--detach", "--json")
    ready = json.loads(done.stdout)
    jsonschema.validate(ready, schema("ready"))
    assert ready["socket"] == status["socket"] == str(host.socket)
    assert ready["boot_id"] != status["boot_id"]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_leaves_nothing(host: Host, ending: signal.Signals) -> None:
    daemon = host.serve()
    pool = host.status()["pool"]["path"]
    assert Path(pool).exists()
    daemon.send_signal(ending)
    daemon.communicate(timeout=20)
    assert daemon.returncode == 0
    assert not Path(pool).exists()
    assert not host.socket.exists()


def test_a_detached_daemon_has_a_pid_file_and_a_log(host: Host) -> None:
    done = host.run("serve", "--detach", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    ready = json.loads(done.stdout)
    assert ready["pid_file"] == str(host.directory / "daemon.pid")
    assert ready["log_file"] == str(host.directory / "daemon.log")
    assert Path(ready["pid_file"]).read_text(encoding="utf-8") == f"{ready['pid']}\n"
    assert Path(ready["log_file"]).exists()
    assert os.getsid(ready["pid"]) == ready["pid"] != os.getsid(0)
    assert Path(f"/proc/{ready['pid']}/cwd").resolve() == Path("/")
    assert host.run("stop").returncode == 0
    assert not Path(ready["pid_file"]).exists()


@pytest.mark.parametrize("name", ["other.sock", "daemon", "x.pid", "x.log", "a.b.sock"])
def test_daemons_with_sockets_in_one_directory_share_no_file(host: Host, name: str) -> None:
    first = json.loads(host.run("serve", "--detach", "--json").stdout)
    other = {"PEGAFLOW_SOCKET": str(host.directory / name)}
    done = host.run("serve", "--detach", "--json", environ=other)
    assert done.returncode == 0, done.stderr
    try:
        second = json.loads(done.stdout)
        files = [one[key] for one in (first, second) for key in ("socket", "pid_file", "log_file")]
        assert len(set(files)) == len(files)
        assert {str(Path(file).parent) for file in files} == {str(host.directory)}
        for one in (first, second):
            assert Path(one["pid_file"]).read_text(encoding="utf-8") == f"{one['pid']}\n"
    finally:
        host.run("stop", environ=other)
    assert Path(first["pid_file"]).exists()


def test_a_detached_daemon_has_the_settings_of_the_command(host: Host) -> None:
    file = host.directory / "relative.toml"
    file.write_text('eviction_policy = "s3fifo"\n', encoding="utf-8")
    done = host.run(
        "serve", "--detach", f"--config={os.path.relpath(file)}", "--pool-size", "32 MiB"
    )
    assert done.returncode == 0, done.stderr
    pool = host.status()["pool"]
    assert (pool["bytes"], pool["policy"]) == (32 << 20, "s3fifo")


def test_a_detached_daemon_that_fails_says_why(host: Host) -> None:
    done = host.run("serve", "--detach", "--pool-dir", "/nonexistent")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pegaflow: the daemon did not start: ")
    assert "/nonexistent" in done.stderr
    assert not (host.directory / "daemon.pid").exists()


def test_the_alias_is_serve(host: Host) -> None:
    daemon = host.serve("--json", program="pegaflow-server")
    assert host.status()["pid"] == daemon.pid


def test_a_second_daemon_is_refused_and_the_first_goes_on(host: Host) -> None:
    first = host.run("serve", "--detach")
    before = host.status()
    for option in [[], ["--detach"]]:
        second = host.run("serve", *option)
        assert second.returncode in (1, 2)
        assert second.stdout == ""
        assert str(host.socket) in second.stderr
        assert str(before["pid"]) in second.stderr
    after = host.status()
    assert first.returncode == 0
    assert (after["pid"], after["boot_id"]) == (before["pid"], before["boot_id"])
    assert (host.directory / "daemon.pid").read_text(encoding="utf-8") == f"{before['pid']}\n"


def test_the_socket_and_pool_of_a_killed_daemon_are_replaced(host: Host) -> None:
    killed = host.serve()
    pool = host.status()["pool"]["path"]
    killed.kill()
    killed.wait()
    assert host.socket.exists()
    assert host.run("status").returncode == 3
    daemon = host.serve()
    status = host.status()
    assert status["pid"] == daemon.pid
    assert status["pool"]["used_bytes"] == 0
    assert status["pool"]["path"] == pool or not Path(pool).exists()


def test_stop_returns_when_the_process_has_ended(host: Host) -> None:
    host.run("serve", "--detach")
    pid = host.status()["pid"]
    done = host.run("stop", "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("stopped"))
    assert document["pid"] == pid
    wait_ended(pid)


def test_stop_of_a_daemon_that_hangs_is_a_timeout(host: Host) -> None:
    host.run("serve", "--detach")
    pid = host.status()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        # Longer than an engine's session waits for a sign of life.
        done = host.run("stop", "--timeout", "2500ms")
        assert (done.returncode, done.stdout) == (4, "")
        done = host.run("status", "--timeout", "300ms")
        assert (done.returncode, done.stdout) == (4, "")
    finally:
        os.kill(pid, signal.SIGCONT)


def test_ctrl_c_ends_a_command_that_waits(host: Host) -> None:
    host.run("serve", "--detach")
    pid = host.status()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        with host.start("stop", "--timeout", "1h") as stop:
            waits = Path(f"/proc/{stop.pid}/task")
            wait_until(lambda: len(list(waits.iterdir())) > 1, "it waits", 60)
            stop.send_signal(signal.SIGINT)
            out, err = stop.communicate(timeout=60)
        assert (stop.returncode, out, err) == (130, "", "")
    finally:
        os.kill(pid, signal.SIGCONT)


def test_without_a_daemon_commands_say_so(host: Host) -> None:
    for command in ("status", "stop"):
        done = host.run(command)
        assert (done.returncode, done.stdout) == (3, "")
        assert str(host.socket) in done.stderr


def test_http_moves_on_from_a_taken_port_but_not_from_a_given_one(host: Host) -> None:
    host.run("serve", "--detach")
    taken = host.status()["http_addr"]
    other = {"PEGAFLOW_SOCKET": str(host.directory / "other.sock")}
    done = host.run("serve", "--detach", "--json", environ=other)
    assert json.loads(done.stdout)["http_addr"] != taken
    host.run("stop", environ=other)
    done = host.run("serve", "--http-addr", taken, environ=other)
    assert (done.returncode, done.stdout) == (2, "")
    assert taken in done.stderr


def test_vllm_starts_a_daemon_first_when_asked_to(host: Host) -> None:
    python = host.directory / "python"
    python.write_text(
        "#!/bin/sh\n"
        'case "$1" in -c) echo \'{"vllm": "0.33.0", "pegaflow-kv": "0.1.0"}\';; '
        '*) echo "$@"; echo "seed $PYTHONHASHSEED"; exit 7;; esac\n',
        encoding="utf-8",
    )
    python.chmod(0o755)
    for _ in range(2):
        command = ("vllm", f"--python={python}", "--with-daemon", "--", "m", "--port", "1")
        done = host.run(*command, environ={"PYTHONHASHSEED": ""})
        assert done.returncode == 7
        assert "-m vllm.entrypoints.cli.main serve m --port 1 --kv-transfer-config" in done.stdout
        assert "seed 0" in done.stdout
    assert host.status()["state"] in ("starting", "ready")


def test_a_broken_pipe_is_a_success(host: Host) -> None:
    for command in ("config show", "--help", "config show --json"):
        piped = f"set -o pipefail; {BIN}/pegaflow {command} | true"
        done = host.run("-c", piped, program="/bin/bash")
        assert (done.returncode, done.stderr) == (0, ""), command


def test_the_module_is_the_command(host: Host) -> None:
    done = host.run("-m", "pegaflow", "version", program="python")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pegaflow ")
