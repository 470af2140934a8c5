"""``pegaflow trace info`` and ``convert``: what is in a trace, and what is wrong with it."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Final

import pytest

from pegaflow.cli import trace_reading
from pegaflow.planning import readers
from tests.cli.command_line import CommandLine
from tests.cli.full_disk import no_space
from tests.cli.replaying import blocks_of, prefix_hits
from tests.planning.traces import conversations, write_lines


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Conversations of some turns, a request a second."""
    return write_lines(tmp_path / "trace.jsonl", conversations(5))


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


def test_standard_output_is_no_file_to_write(
    pegaflow: CommandLine, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = pegaflow("trace", "convert", str(trace), "-")
    assert (done.code, done.out) == (2, "")
    assert "OUT '-' cannot be used" in done.err and "give the name of a file" in done.err
    assert not Path("-").exists()


def test_an_empty_trace_is_said_to_be_empty(pegaflow: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.touch()
    for command in (["trace", "info"], ["plan", "--trace"]):
        done = pegaflow(*command, str(path))
        assert (done.code, done.out) == (2, "")
        assert done.err == f"pegaflow: the trace {path} is empty; give another file\n"


_ANSWERED: Final = {
    "mooncake.jsonl": [
        '{"timestamp": 0, "input_length": 40, "output_length": 7, "hash_ids": [1]}',
        '{"timestamp": 5, "input_length": 40, "output_length": null, "hash_ids": [1]}',
        '{"timestamp": 9, "input_length": 40, "hash_ids": [1]}',
    ],
    "bailian.jsonl": [
        '{"chat_id": 1, "timestamp": 0, "input_length": 8, "output_length": 7, "hash_ids": [1]}',
        '{"chat_id": 2, "timestamp": 1, "input_length": 8, "output_length": 0, "hash_ids": [1]}',
        '{"chat_id": 3, "timestamp": 2, "input_length": 8, "hash_ids": [1]}',
    ],
    "azure.csv": ["TIMESTAMP,ContextTokens,GeneratedTokens", "0,40,7", "1,40,", "2,40"],
    "burstgpt.csv": [
        "Timestamp,Model,Request tokens,Response tokens", "0,m,40,7", "1,m,40,0", "2,m,40,",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "lines"), _ANSWERED.items(), ids=_ANSWERED)
def test_a_converted_trace_has_the_lengths_of_answers_that_are_known(
    pegaflow: CommandLine, tmp_path: Path, name: str, lines: list[str]
) -> None:
    path, out = tmp_path / name, tmp_path / "out.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert pegaflow("trace", "convert", str(path), str(out)).code == 0
    written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [line["output_length"] for line in written] == [7, 0, 0]


def test_a_folder_without_recordings_is_refused(pegaflow: CommandLine, tmp_path: Path) -> None:
    done = pegaflow("trace", "info", str(tmp_path))
    assert done.code == 2 and "has no recordings (lookups-*.jsonl.gz)" in done.err


LINES = [json.dumps(line) for line in conversations(1, 3)]
UNSORTED = [LINES[1], LINES[0], LINES[2]]
BAD = {
    "broken": ([LINES[0], LINES[1][:-9], LINES[2]], "line 2: it is no JSON", 2),
    "broken first": ([LINES[0][:-9], *LINES[1:]], "line 1: it is no JSON", 2),
    "unsorted": (UNSORTED, "line 2: the time 0 s is before that of an earlier line", 2),
    "other blocks": (
        [LINES[0], LINES[1].replace('"input_length": ', '"input_length": 99'), LINES[2]],
        "give the trace's block size with --block-tokens",
        2,
    ),
}


@pytest.mark.parametrize(("lines", "says", "rest"), BAD.values(), ids=BAD)
def test_what_is_bad_is_said_and_ends_it_or_is_passed_over(
    pegaflow: CommandLine, tmp_path: Path, lines: list[str], says: str, rest: int
) -> None:
    path, out = tmp_path / "trace.jsonl", tmp_path / "out.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for command in (["info", str(path)], ["convert", str(path), str(out)]):
        done = pegaflow("trace", *command)
        assert (done.code, done.out) == (2, "")
        assert says in done.err and str(path) in done.err and "--skip-bad" in done.err
        # A trace that is not whole is not left behind.
        assert not out.exists()
        done = pegaflow("trace", *command, "--skip-bad")
        assert done.code == 0, done.err
        assert f"skipped trace.jsonl, {says.partition(':')[0]}" in done.err or says in done.err
    assert len(blocks_of(out)) == rest


def test_times_are_sorted_where_that_is_asked_for(pegaflow: CommandLine, tmp_path: Path) -> None:
    path, out = tmp_path / "trace.jsonl", tmp_path / "out.jsonl"
    path.write_text("\n".join(UNSORTED) + "\n", encoding="utf-8")
    assert pegaflow("trace", "convert", str(path), str(out), "--sort-times").code == 0
    assert blocks_of(out) == [json.loads(line)["hash_ids"] for line in LINES]


def test_fields_that_nobody_reads_are_said_wherever_they_are(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    more = [json.dumps(json.loads(line) | {"user": 1}) for line in LINES[1:]]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join([LINES[0], *more]) + "\n", encoding="utf-8")
    done = pegaflow("trace", "info", str(path))
    assert done.code == 0
    assert done.err == "pegaflow: line 2 has fields that are not used: user\n"


def test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(
    pegaflow: CommandLine, trace: Path, tmp_path: Path
) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(trace.read_bytes())[:-40])
    done = pegaflow("trace", "info", str(path))
    assert done.code == 2 and done.out == ""
    assert f"{path}, line " in done.err and "cut off or damaged" in done.err
    done = pegaflow("trace", "info", str(path), "--skip-bad", "--json")
    assert 100 < done.json("trace-info")["requests"] < 200
    assert "cut off or damaged" in done.err
    path.write_bytes(path.read_bytes()[:12])
    done = pegaflow("trace", "info", str(path), "--skip-bad")
    assert done.code == 2 and "line 1: the file is cut off or damaged" in done.err


def test_a_recording_that_a_kill_cut_off_hides_no_later_one(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    for number in range(3):
        line = {"timestamp": number, "namespace": "a", "group": 0, "block_bytes": 4096,
                "memory_blocks": 0, "ssd_blocks": 0, "hash_ids": [number]}  # fmt: skip
        member = gzip.compress(json.dumps(line).encode() + b"\n")
        torn = member[:9] if number == 1 else b""
        (tmp_path / f"lookups-{number:020}.jsonl.gz").write_bytes(member + torn)
    assert "lookups-00000000000000000001.jsonl.gz, line 2" in (
        pegaflow("trace", "info", str(tmp_path)).err
    )
    done = pegaflow("trace", "info", str(tmp_path), "--skip-bad", "--json")
    assert done.json("trace-info")["requests"] == 3


def test_a_trace_of_any_size_is_streamed_with_a_word_now_and_then(
    pegaflow: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_reading, "_PROGRESS_BYTES", 10_000)
    monkeypatch.setattr(readers, "_BYTES_PER_PROGRESS", 1_000)
    pipe, out = tmp_path / "pipe", tmp_path / "out.jsonl.gz"
    os.mkfifo(pipe)

    def feed() -> None:
        with pipe.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in conversations(1, 1000))

    # A pipe is never there as a whole.
    thread = threading.Thread(target=feed)
    thread.start()
    done = pegaflow("trace", "convert", str(pipe), str(out))
    thread.join()
    assert done.code == 0 and "wrote 1,000 requests" in done.out
    assert done.err.count(" read\n") > 5


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_converted_trace_has_its_name_only_when_it_is_whole(
    pegaflow: CommandLine, tmp_path: Path, name: str
) -> None:
    pipe, out = tmp_path / "pipe", tmp_path / name
    os.mkfifo(pipe)
    early = list[bool]()

    def feed() -> None:
        with pipe.open("w", encoding="utf-8") as file:
            # More than a pipe holds: the other end has read some of it.
            file.writelines(json.dumps(line) + "\n" for line in conversations(1, 2000))
            early.append(out.exists())

    thread = threading.Thread(target=feed)
    thread.start()
    done = pegaflow("trace", "convert", str(pipe), str(out))
    thread.join()
    assert (done.code, early) == (0, [False])
    assert {file.name for file in tmp_path.iterdir()} == {"pipe", name}


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_full_disk_leaves_nothing_of_a_converted_trace(
    pegaflow: CommandLine,
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr("pegaflow.whole_file.os.fsync", no_space)
    done = pegaflow("trace", "convert", str(trace), str(tmp_path / name))
    assert done.code == 1
    assert f"{name} cannot be written to its end: No space left on device" in done.err
    assert list(tmp_path.iterdir()) == [trace]


def test_where_a_converted_trace_cannot_go_is_said(
    pegaflow: CommandLine, trace: Path, tmp_path: Path
) -> None:
    done = pegaflow("trace", "convert", str(trace), str(tmp_path / "absent" / "out.jsonl"))
    assert done.code == 2
    assert "absent/out.jsonl cannot be written (No such file or directory)" in done.err
