"""``pegaflow trace replay``: a real daemon, real bytes, each compared."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from pegaflow.planning.lines import Request
from pegaflow.replay import run as replay_run
from pegaflow.replay.content import Content
from pegaflow.replay.engine import ReplayEngine
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import status_document
from tests.cli.installed import Host
from tests.cli.replaying import AT_ONCE, blocks_of, prefix_hits, replayed
from tests.engine.pool_file import sealed_pages
from tests.engine.waiting import wait_until
from tests.planning.traces import conversations, write_lines

PATIENCE_S = 60.0


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Conversations of some turns, a request a second."""
    return write_lines(tmp_path / "trace.jsonl", conversations(5))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--block-bytes", "100gb"], "--block-bytes '100gb' cannot be used: 4 engines with 1,024"),
        (["--block-bytes", "9" * 30], "allowed: a size below 8EiB"),
        (["--speed", "1e-300"], "--speed 1e-300 cannot be used; allowed: 0, or 0.001 to 1,000,000"),
        (["--speed", "1e300"], "--speed '1e300' cannot be used"),
        (["--speed", "nan"], "--speed 'nan' cannot be used"),
        (["--limit", "9" * 26], "cannot be used"),
        (["--patience", "9" * 400], "allowed: a duration of at most 1,000,000,000 s"),
        (["--block-tokens", "9" * 26], "cannot be used"),
    ],
)
def test_values_that_are_too_large_or_small_are_refused_before_a_daemon_is_asked(
    pegaflow: CommandLine, trace: Path, args: list[str], says: str
) -> None:
    done = pegaflow("trace", "replay", str(trace), *args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert pegaflow.sockets == []


def test_a_replay_hits_what_was_asked_for_before_and_every_byte_is_right(
    host: Host, trace: Path
) -> None:
    host.serve()
    document = replayed(host, trace, *AT_ONCE)
    requests = blocks_of(trace)
    blocks, hits = sum(map(len, requests)), prefix_hits(requests)
    assert document["blocks"] == {
        "requested": blocks, "memory": hits, "ssd": 0, "remote": 0, "miss": blocks - hits,
    }  # fmt: skip
    assert (document["verified_blocks"], document["wrong_blocks"]) == (hits, 0)
    assert document["saved_bytes"] == (blocks - hits) * 4096
    assert document["failed_requests"] == 0
    assert document["lookup_ms"]["count"] == 200
    assert document["requests_per_s"] > 0 and document["ended_early"] is None


def test_engines_side_by_side_share_blocks_and_keep_the_trace_s_times(
    host: Host, trace: Path
) -> None:
    host.serve()
    document = replayed(
        host, trace, "--engines", "3", "--speed", "200", "--limit", "100", "--block-bytes", "4KiB"
    )
    assert (document["requests"], document["wrong_blocks"], document["failed_requests"]) == (
        100,
        0,
        0,
    )
    # 99 s of the trace, 200 times as fast.
    assert float(str(document["seconds"])) >= 0.49
    assert document["late_ms"]["count"] == 100
    assert float(str(document["hit_percent"])) > 30


def test_bytes_that_differ_are_found(
    trace: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.serve()

    class Forgetful(Content):
        """Gives a block other bytes each time."""

        times = 0

        def of(self, name: int) -> bytes:
            self.times += 1
            return self.times.to_bytes(8, "little") + super().of(name)[8:]

    monkeypatch.setattr(replay_run, "Content", Forgetful)
    requests = blocks_of(trace)
    report = replay_run.replay(
        str(host.socket),
        replay_run.ReplayPlan(engines=1, speed=0, block_bytes=4096, engine_blocks=1024),
        [Request(0.0, 512 * len(names), names) for names in requests],
        lambda _: None,
    )
    assert not report.is_right
    assert report.tally.wrong_blocks == report.tally.loaded_blocks == prefix_hits(requests)


def test_what_memory_has_no_room_for_is_hit_on_ssd_with_the_right_bytes(
    host: Host, trace: Path
) -> None:
    host.serve("--ssd", f"{host.directory / 'ssd'}=1GiB")
    document = replayed(host, trace, "--engines", "1", "--speed", "0", "--block-bytes", "256KiB")
    blocks = document["blocks"]
    assert blocks["memory"] > 0 and blocks["ssd"] > 0
    assert sum(blocks[part] for part in ("memory", "ssd", "remote", "miss")) == blocks["requested"]
    assert (document["verified_blocks"], document["wrong_blocks"]) == (
        blocks["memory"] + blocks["ssd"],
        0,
    )


def test_people_see_throughput_tiers_and_percentiles(host: Host, trace: Path) -> None:
    host.serve()
    done = host.run("trace", "replay", str(trace), *AT_ONCE)
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert "/s) by 1 engine, 0 failed, 0 unanswered, 0 cut" in rows["requests"]
    assert "% memory, 0% ssd, 0% remote" in rows["hits"]
    assert "GB/s" in rows["loaded"] and "GB/s" in rows["saved"]
    assert rows["verified"].endswith("blocks compared, 0 wrong")
    for what in ("lookup", "load", "save", "late"):
        assert {"p50", "p95", "p99"} <= set(rows[what].split())


def test_a_changed_byte_in_the_daemon_s_memory_is_found_and_told_by_the_exit_code(
    pegaflow: CommandLine, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.serve()
    request = {"timestamp": 0, "input_length": 1536, "output_length": 1, "hash_ids": [1, 2, 3]}
    trace = write_lines(tmp_path / "trace.jsonl", [request, request])
    serve = ReplayEngine.serve

    def damaging(engine: ReplayEngine, names: list[int]) -> None:
        if engine.tally.requests:
            _change_a_byte(Path(host.status()["pool"]["path"]))
        serve(engine, names)

    monkeypatch.setattr(ReplayEngine, "serve", damaging)
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document()))
    done = pegaflow("trace", "replay", str(trace), *AT_ONCE, "--socket", str(host.socket), "--json")
    document = done.json("trace-replay")
    assert (document["verified_blocks"], document["wrong_blocks"]) == (3, 1)
    assert done.code == 5
    assert "1 of 3 loaded blocks came back with other bytes than saved" in done.err


def _change_a_byte(pool: Path) -> None:
    page = next(sealed_pages(pool))
    descriptor = os.open(pool, os.O_RDWR)
    try:
        (byte,) = os.pread(descriptor, 1, page.offset + 1000)
        os.pwrite(descriptor, bytes([byte ^ 1]), page.offset + 1000)
    finally:
        os.close(descriptor)


def slowly(host: Host, trace: Path, *args: str) -> "subprocess.Popen[str]":
    """A replay that has begun and takes minutes."""
    running = host.start("trace", "replay", str(trace), "--engines", "2", "--json", *args)
    wait_until(lambda: host.status()["blocks"]["requested"], "the replay has begun", PATIENCE_S)
    return running


def until_said(running: "subprocess.Popen[str]", what: str) -> None:
    assert running.stderr is not None
    assert any(what in line for line in running.stderr), f"never said: {what}"


def test_a_daemon_that_is_gone_is_said_and_waited_for(host: Host, trace: Path) -> None:
    daemon = host.serve()
    running = slowly(host, trace, "--patience", "10m")
    daemon.send_signal(signal.SIGKILL)
    until_said(running, "no daemon has answered for ")
    host.serve()
    until_said(running, "the daemon answers again, after ")
    before = host.status()["blocks"]["requested"]
    wait_until(
        lambda: host.status()["blocks"]["requested"] > before, "the replay goes on", PATIENCE_S
    )
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate()
    assert running.returncode == 130
    document = json.loads(out)
    assert document["ended_early"] == "interrupted"
    assert 0 < document["requests"] < 200 and document["wrong_blocks"] == 0


def test_requests_under_way_when_the_daemon_is_killed_are_unanswered_and_no_failures(
    pegaflow: CommandLine, host: Host, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemons = [host.serve()]
    load, kills = ReplayEngine._load, [3, 40]

    def killing(engine: ReplayEngine, request: str, names: list[int]) -> None:
        if kills and engine.tally.requests >= kills[0]:
            del kills[0]
            daemons[-1].send_signal(signal.SIGKILL)
            daemons[-1].wait()
            daemons.append(host.serve())
        load(engine, request, names)

    monkeypatch.setattr(ReplayEngine, "_load", killing)
    pegaflow.daemon = StandInDaemon("/unused", status_answer=json.dumps(status_document()))
    done = pegaflow("trace", "replay", str(trace), *AT_ONCE, "--socket", str(host.socket), "--json")
    document = done.json("trace-replay")
    assert (document["unanswered_requests"], document["failed_requests"]) == (2, 0)
    assert (document["requests"], document["wrong_blocks"]) == (len(blocks_of(trace)), 0)
    assert (done.code, done.err.count("2 requests got no answer: the daemon ended")) == (0, 1)


def test_a_daemon_that_stays_away_ends_the_replay_with_what_was_measured(
    host: Host, trace: Path
) -> None:
    daemon = host.serve()
    running = slowly(host, trace, "--patience", "3s")
    daemon.send_signal(signal.SIGKILL)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 3
    assert re.search(r"no daemon has answered for \d+ s: .*--patience", err.splitlines()[-1]), err
    document = json.loads(out)
    assert document["ended_early"] in err
    assert 0 < document["requests"] < 200


def test_a_daemon_that_hangs_is_said_and_waited_for(host: Host, trace: Path) -> None:
    daemon = host.serve()
    running = slowly(host, trace, "--patience", "10m", "--speed", "5")
    daemon.send_signal(signal.SIGSTOP)
    until_said(running, "requests wait for it, 10 m")
    daemon.send_signal(signal.SIGCONT)
    until_said(running, "the daemon answers again, after ")
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate()
    assert running.returncode == 130 and json.loads(out)["wrong_blocks"] == 0


def test_a_line_that_cannot_be_used_ends_it_with_what_was_measured(
    host: Host, tmp_path: Path
) -> None:
    host.serve()
    lines = [json.dumps(line) for line in conversations(1, 40)]
    trace = tmp_path / "trace.jsonl"
    trace.write_text("\n".join([*lines[:30], "{broken", *lines[30:]]) + "\n", encoding="utf-8")
    done = host.run("trace", "replay", str(trace), *AT_ONCE, "--json")
    assert done.returncode == 2 and "line 31: it is no JSON" in done.stderr
    assert "line 31" in json.loads(done.stdout)["ended_early"]
    done = host.run("trace", "replay", str(trace), *AT_ONCE, "--skip-bad", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["requests"] == 40
    assert "skipped trace.jsonl, line 31" in done.stderr
