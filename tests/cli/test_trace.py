"""``pegaflow trace``: what is recorded can be planned with, and a replay compares every byte."""

import json
from pathlib import Path

import pytest

from pegaflow.planning.lines import Request
from pegaflow.replay import run as replay_run
from pegaflow.replay.content import Content
from tests.cli.command_line import CommandLine
from tests.cli.installed import Host
from tests.planning.traces import conversations, write_lines


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "trace.jsonl", conversations(5))


def blocks_of(trace: Path) -> list[list[int]]:
    return [json.loads(line)["hash_ids"] for line in trace.read_text().splitlines()]


def prefix_hits(requests: list[list[int]]) -> int:
    seen, hits = set[int](), 0
    for blocks in requests:
        hits += next((n for n, block in enumerate(blocks) if block not in seen), len(blocks))
        seen.update(blocks)
    return hits


def replayed(host: Host, trace: Path, *args: str) -> dict[str, object]:
    done = host.run("trace", "replay", str(trace), *args, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def test_info_says_what_is_in_a_trace(pegaflow: CommandLine, trace: Path) -> None:
    document = pegaflow("trace", "info", str(trace), "--json").json("trace-info")
    requests = blocks_of(trace)
    assert (document["requests"], document["duration_s"]) == (200, 199.0)
    assert document["blocks"] == sum(map(len, requests))
    part = prefix_hits(requests) / document["blocks"]
    assert document["ceiling_percent"] == pytest.approx(100 * part, abs=0.01)
    assert "200 in " in pegaflow("trace", "info", str(trace)).out


def test_a_converted_trace_is_the_same_trace(
    pegaflow: CommandLine, trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl.gz"
    done = pegaflow("trace", "convert", str(trace), str(out))
    assert (done.code, done.out) == (0, "wrote 200 requests with blocks of 512 tokens\n")
    before, after = (
        pegaflow("trace", "info", str(path), "--json").json("trace-info") for path in (trace, out)
    )
    assert before == after
    done = pegaflow("trace", "convert", str(trace), str(out))
    assert done.code == 2 and "is there already" in done.err


def test_a_replay_hits_what_was_asked_for_before_and_every_byte_is_right(
    host: Host, trace: Path
) -> None:
    host.serve()
    document = replayed(host, trace, "--engines", "1", "--speed", "0", "--block-bytes", "4KiB")
    requests = blocks_of(trace)
    blocks, hits = sum(map(len, requests)), prefix_hits(requests)
    assert document["blocks"] == {
        "requested": blocks, "memory": hits, "ssd": 0, "remote": 0, "miss": blocks - hits,
    }  # fmt: skip
    assert (document["verified_blocks"], document["wrong_blocks"]) == (hits, 0)
    assert document["saved_bytes"] == (blocks - hits) * 4096
    assert document["failed_requests"] == 0
    assert document["lookup_ms"]["count"] == 200  # type: ignore[index]


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
    assert document["late_ms"]["count"] == 100  # type: ignore[index]
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


def test_what_a_daemon_records_can_be_planned_with_and_replayed(
    host: Host, trace: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "recording"
    daemon = host.serve("--record-dir", str(directory))
    args = ("--engines", "1", "--speed", "0", "--block-bytes", "4KiB", "--limit", "50")
    replayed(host, trace, *args)
    assert host.status()["recording"]["directory"] == str(directory)
    assert host.run("stop").returncode == 0
    daemon.wait(60)
    requests = blocks_of(trace)[:50]
    info = json.loads(host.run("trace", "info", str(directory), "--json").stdout)
    assert (info["format"], info["requests"], info["block_bytes"]) == ("recording", 50, 4096)
    assert info["blocks"] == sum(map(len, requests))
    assert info["distinct_blocks"] == len({block for blocks in requests for block in blocks})
    done = host.run("plan", "--trace", str(directory), "--json", "--capacity", "1MiB")
    document = json.loads(done.stdout)
    assert document["policies"]["lru"][0]["capacity_blocks"] == 256
    assert "vLLM's default" in done.stderr
    host.serve()
    again = replayed(host, directory, *args)
    assert again["blocks"]["requested"] == info["blocks"]  # type: ignore[index]
    assert again["wrong_blocks"] == 0


def test_nothing_is_recorded_unless_asked_for(host: Host) -> None:
    host.serve()
    assert host.status()["recording"] is None


def test_a_folder_without_recordings_is_refused(pegaflow: CommandLine, tmp_path: Path) -> None:
    done = pegaflow("trace", "info", str(tmp_path))
    assert done.code == 2 and "has no recordings (lookups-*.jsonl.gz)" in done.err


def test_a_running_daemon_knows_what_another_pool_would_hit(host: Host, trace: Path) -> None:
    host.serve()
    empty = host.run("plan", "--live")
    assert empty.returncode == 0 and "no block was asked for yet" in empty.stdout
    document = replayed(host, trace, "--engines", "1", "--speed", "0", "--block-bytes", "4KiB")
    live = json.loads(host.run("plan", "--live", "--json").stdout)
    points = {point["pool_bytes"]: point["hit_percent"] for point in live["points"]}
    # All blocks fit, so the pool as it is has the hits that the replay had.
    assert points[live["pool_bytes"]] == pytest.approx(document["hit_percent"], abs=2)
    assert list(points.values()) == sorted(points.values())
    assert "twice the pool would hit 0.0 points more" in host.run("plan", "--live").stdout


def test_plan_wants_a_trace_or_a_daemon(pegaflow: CommandLine, trace: Path) -> None:
    for args in ([], ["--live", "--trace", str(trace)]):
        done = pegaflow("plan", *args)
        assert done.code == 2 and "give one of --trace FILE and --live" in done.err
