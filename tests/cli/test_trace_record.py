"""``pegaflow trace record``, and what else a running daemon knows of its lookups."""

import json
import shutil
from pathlib import Path

import httpx
import pytest

from pegaflow.errors import Refused
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import operated
from tests.cli.installed import Host
from tests.cli.replaying import AT_ONCE, blocks_of, replayed
from tests.planning.traces import conversations, write_lines

BEGUN = {"directory": "/mnt/lookups", "lookups": 0, "left_out": 0, "bytes": 0,
         "size_bytes": 1 << 30, "error": None, "shortage": None}  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Conversations of some turns, a request a second."""
    return write_lines(tmp_path / "trace.jsonl", conversations(5))


def test_a_recording_begins_and_ends_while_the_daemon_serves(
    host: Host, trace: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "lookups"
    host.serve()
    replayed(host, trace, *AT_ONCE, "--limit", "5")
    done = host.run("trace", "record", str(directory), "--size", "8MiB")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"lookups are recorded into {directory}, which has 0 B of at most 8 MiB\n"
    replayed(host, trace, *AT_ONCE, "--limit", "50")
    shown = host.run("status").stdout
    assert "records " in shown and f" in {directory}, at most 8 MiB" in shown
    assert "twice the pool would hit " in shown
    twice = host.run("trace", "record", str(directory))
    assert twice.returncode == 1 and "--stop" in twice.stderr
    done = host.run("trace", "record", "--stop")
    assert done.returncode == 0
    assert done.stdout.startswith(f"50 lookups were recorded into {directory}; it has ")
    replayed(host, trace, *AT_ONCE, "--limit", "5")
    assert host.status()["recording"] is None
    info = json.loads(host.run("trace", "info", str(directory), "--json").stdout)
    assert info["blocks"] == sum(map(len, blocks_of(trace)[:50]))
    none = host.run("trace", "record", "--stop")
    assert none.returncode == 1 and "no lookups are recorded" in none.stderr


def test_what_cannot_be_recorded_is_told_with_its_name_and_what_can(
    host: Host, trace: Path, tmp_path: Path
) -> None:
    host.serve()
    directory, file = tmp_path / "lookups", tmp_path / "file"
    file.touch()
    refused = host.run("trace", "record", str(file))
    assert (refused.returncode, refused.stderr) == (
        2,
        f"pegaflow: {file} cannot be used for recordings: a file is in the way; give a directory "
        "that the daemon may write to, or one that is not there yet\n",
    )
    begun = host.run("trace", "record", str(directory), "--size", "1EiB")
    assert begun.returncode == 0
    assert f'"{directory}" may take 1.0 EiB of recordings, and the file system has' in begun.stderr
    shutil.rmtree(directory)
    replayed(host, trace, *AT_ONCE, "--limit", "1")
    host.run("trace", "record", "--stop")
    told = host.run("events", "--kind", "recording").stdout.splitlines()
    assert [text.split("recording      ")[1].split(f"{directory}")[0] for text in told] == [
        '"',
        "lookups cannot be recorded into ",
    ]


def test_what_is_asked_for_reaches_the_daemon(pegaflow: CommandLine) -> None:
    ended = BEGUN | {"lookups": 9000, "left_out": 2, "bytes": 3 << 20, "error": "no room"}
    results = {
        "trace-record": operated("trace-record", **BEGUN),
        "trace-stop": operated("trace-stop", **ended),
    }
    pegaflow.daemon = StandInDaemon("/unused", results=results)
    assert pegaflow("trace", "record", "/mnt/lookups").code == 0
    assert pegaflow("trace", "record", "/mnt/lookups", "--size", "2GiB", "--json").json("operated")
    done = pegaflow("trace", "record", "--stop")
    assert done.out == (
        "9,000 lookups were recorded into /mnt/lookups, 2 left out, the last because they could "
        "not be written: no room; it has 3 MiB\n"
    )
    assert pegaflow.daemon.operations == [
        {"operation": "trace-record", "directory": "/mnt/lookups"},
        {"operation": "trace-record", "directory": "/mnt/lookups", "size_bytes": 2 << 30},
        {"operation": "trace-stop"},
    ]
    pegaflow.daemon = StandInDaemon("/unused", results={"trace-stop": Refused("nothing is")})
    assert pegaflow("trace", "record", "--stop").code == 1


def test_what_could_change_a_terminal_is_written_with_escapes(pegaflow: CommandLine) -> None:
    directory = "/mnt/a\x1b[2J\n\u202eb"
    results = {
        "trace-record": operated("trace-record", **BEGUN | {"directory": directory}),
        "trace-stop": operated("trace-stop", **BEGUN | {"directory": directory}),
    }
    pegaflow.daemon = StandInDaemon("/unused", results=results)
    for args in (["/mnt/a"], ["--stop"]):
        done = pegaflow("trace", "record", *args)
        assert done.code == 0 and done.out.count("\n") == 1
        assert r"/mnt/a\x1b[2J\n\u202eb" in done.out
        assert done.out.removesuffix("\n").isprintable()
        document = pegaflow("trace", "record", *args, "--json").json("operated")
        assert document["directory"] == directory


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "give one of DIR, to begin a recording, and --stop"),
        (["/mnt/lookups", "--stop"], "give one of DIR"),
        (["lookups"], "DIR 'lookups' cannot be used; allowed: a path from / on"),
        (["/mnt/lookups", "--size", "many"], "--size 'many' cannot be used"),
        (["--stop", "--size", "1GiB"], "--size is of a recording that begins"),
    ],
)
def test_mistakes_are_said(pegaflow: CommandLine, args: list[str], says: str) -> None:
    done = pegaflow("trace", "record", *args)
    assert done.code == 2 and says in done.err
    assert pegaflow.daemon.operations == []


def test_what_a_daemon_records_can_be_planned_with_and_replayed(
    host: Host, trace: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "recording"
    daemon = host.serve("--record-dir", str(directory))
    args = (*AT_ONCE, "--limit", "50")
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
    assert again["blocks"]["requested"] == info["blocks"]
    assert again["wrong_blocks"] == 0


def test_nothing_is_recorded_unless_asked_for(host: Host) -> None:
    host.serve()
    assert host.status()["recording"] is None


def test_a_running_daemon_knows_what_another_pool_would_hit(host: Host, trace: Path) -> None:
    host.serve()
    empty = host.run("plan", "--live")
    assert empty.returncode == 0 and "no block was asked for yet" in empty.stdout
    document = replayed(host, trace, *AT_ONCE)
    live = json.loads(host.run("plan", "--live", "--json").stdout)
    points = {point["pool_bytes"]: point["hit_percent"] for point in live["points"]}
    # All blocks fit, so the pool as it is has the hits that the replay had.
    assert points[live["pool_bytes"]] == pytest.approx(document["hit_percent"], abs=2)
    assert live["policy"] == "density" and not any(point["is_rough"] for point in live["points"])
    metrics = httpx.get(f"http://{host.status()['http_addr']}/metrics", trust_env=False).text
    for pool_bytes, percent in points.items():
        name = f'pegaflow_what_if_hit_ratio{{pool_bytes="{pool_bytes}"}} '
        (line,) = (line for line in metrics.splitlines() if line.startswith(name))
        assert float(line.removeprefix(name)) == pytest.approx(percent / 100)
    assert "would have hit under density, about" in metrics
    assert "twice the pool would hit 0.0 points more" in host.run("plan", "--live").stdout


def test_what_a_larger_pool_would_hit_is_no_more_than_what_this_one_missed(
    host: Host, tmp_path: Path
) -> None:
    # A loop that is larger than the pool: LRU hits nothing of it, and all of it in twice the room.
    loop = [list(range(first, first + 100)) for first in range(0, 1500, 100)] * 10
    lines: list[dict[str, object]] = [
        {"timestamp": number * 1000, "input_length": 51_200, "output_length": 1, "hash_ids": ids}
        for number, ids in enumerate(loop)
    ]
    trace = write_lines(tmp_path / "loop.jsonl", lines)
    host.serve("--pool-size", "4MiB")
    document = replayed(host, trace, "--speed", "50", "--engines", "1", "--block-bytes", "4KiB")
    live = json.loads(host.run("plan", "--live", "--json").stdout)
    points = {point["pool_bytes"]: point["hit_percent"] for point in live["points"]}
    more = points[2 * live["pool_bytes"]] - points[live["pool_bytes"]]
    assert more > 0 and document["hit_percent"] + more <= 100
    told = f"twice the pool would hit {more:.1f} points more"
    assert told in host.run("status").stdout
    shown = host.run("plan", "--live").stdout
    assert told in shown and "would hit under density" in shown


def test_a_curve_of_fewer_blocks_than_the_pool_has_is_told_to_be_early(
    host: Host, trace: Path
) -> None:
    host.serve()
    replayed(host, trace, *AT_ONCE)
    assert "too low yet" not in host.run("plan", "--live").stdout
    host.run("restart")
    replayed(host, trace, *AT_ONCE, "--limit", "1")
    assert "so the curve is too low yet" in host.run("plan", "--live").stdout


def test_plan_wants_a_trace_or_a_daemon(pegaflow: CommandLine, trace: Path) -> None:
    for args in ([], ["--live", "--trace", str(trace)]):
        done = pegaflow("plan", *args)
        assert done.code == 2 and "give one of --trace FILE and --live" in done.err
