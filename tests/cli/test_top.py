"""``pegaflow top`` for scripts: documents, lines, and exit codes."""

import csv
import gzip
import io
import json
import socket
import sys
from pathlib import Path

import jsonschema
import pytest

from pegaflow.observe.reading import snapshot
from pegaflow.observe.rows import CSV
from pegaflow.observe.scripted import ScriptedSource
from pegaflow.observe.stat_lines import StatLines
from tests.cli.command_line import CommandLine
from tests.cli.documents import schema
from tests.cli.installed import Host
from tests.observe.clock import Clock
from tests.observe.http_daemon import http_daemon
from tests.planning.traces import conversations, write_lines

_BEGAN = 1_700_000_000.0


def _source(host: str = "gpu-1", offline_after_s: float | None = None) -> ScriptedSource:
    return ScriptedSource(host, Clock(_BEGAN + 30), _BEGAN, offline_after_s=offline_after_s)


def test_one_reading_for_scripts_adds_up_and_fits_the_schema(pegaflow: CommandLine) -> None:
    with http_daemon(_source()) as url:
        outcome = pegaflow("top", "--once", "--json", "--url", url)
    document = outcome.json("top")
    assert (outcome.code, outcome.err) == (0, "")
    blocks = document["blocks"]
    tiers = blocks["memory"] + blocks["ssd"] + blocks["remote"]
    assert blocks["requested"] == tiers + blocks["miss"] > 0
    assert document["hosts"][0]["window"]["since_start"] is True


def test_several_daemons_are_summed(pegaflow: CommandLine) -> None:
    with http_daemon(_source()) as one, http_daemon(_source()) as two:
        document = pegaflow("top", "--once", "--json", "--url", one, "--url", two).json("top")
    single = document["hosts"][0]["blocks"]
    assert len(document["hosts"]) == 2
    assert document["blocks"] == {name: 2 * count for name, count in single.items()}


def test_text_is_a_line_for_each_daemon(pegaflow: CommandLine) -> None:
    with http_daemon(_source()) as url:
        lines = pegaflow("top", "--once", "--url", url).out.splitlines()
    name = url.removeprefix("http://")
    stat = StatLines([name])
    assert lines[0] == stat.heading
    # All but the time of the reading.
    expected = stat.line(snapshot(_source(name).read()))
    assert [line[8:] for line in lines[1:]] == [expected[8:]]


@pytest.mark.parametrize("columns", [None, "80", "300"])
def test_two_daemons_of_one_host_have_names_that_differ(
    pegaflow: CommandLine, tmp_path: Path, columns: str | None
) -> None:
    file = str(tmp_path / "recording")
    if columns is not None:
        pegaflow.is_terminal = True
        pegaflow.environ["COLUMNS"] = columns
    with http_daemon(_source()) as one, http_daemon(_source()) as two:
        given = ("--url", one, "--url", two, "--url", "127.0.0.1:1")
        live = pegaflow("top", "--stat", "-n", "1", *given, "--record", file).out.splitlines()
        names = [url.removeprefix("http://") for url in (one, two)]
    hosts = [line.split()[1] for line in live[1:]]
    assert len(set(hosts)) == 3
    if columns != "80":
        assert hosts == [*names, "127.0.0.1:1"]
    replayed = pegaflow("top", "--replay", file, "--stat").out.splitlines()
    assert {line.split()[1] for line in replayed[1:]} == set(hosts[:2])
    # Values are under their headings.
    ends = {line.index(" ready ") for line in live[1:3]}
    assert ends == {live[0].index(" state ")}


def test_csv_has_a_heading_and_a_row_for_each_reading(pegaflow: CommandLine) -> None:
    with http_daemon(_source()) as url:
        outcome = pegaflow("top", "--csv", "--count", "3", "--interval", "100ms", "--url", url)
    rows = list(csv.reader(io.StringIO(outcome.out)))
    assert rows[0] == list(CSV)
    assert [len(row) for row in rows] == [len(CSV)] * 4
    values = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert int(values[0]["requested"]) > 0
    # The clock of the daemon stands still: nothing more is asked for.
    assert [row["requested"] for row in values[1:]] == ["0", "0"]


def test_readings_are_lines_of_json(pegaflow: CommandLine) -> None:
    with http_daemon(_source()) as url:
        outcome = pegaflow("top", "--json", "-n", "2", "-i", "100ms", "--url", url)
    documents = [json.loads(line) for line in outcome.out.splitlines()]
    assert len(documents) == 2
    for document in documents:
        jsonschema.validate(document, schema("top"))


def test_the_demonstration_needs_no_daemon(pegaflow: CommandLine) -> None:
    document = pegaflow("top", "--demo", "--once", "--json").json("top")
    assert [host["host"] for host in document["hosts"]] == ["gpu-1", "gpu-2"]


def test_a_degraded_daemon_is_exit_code_5(pegaflow: CommandLine) -> None:
    with http_daemon(_source(offline_after_s=10)) as url:
        outcome = pegaflow("top", "--once", "--url", url)
    assert outcome.code == 5
    assert "!! /mnt/nvme1/pegaflow is offline: reading" in outcome.out


def test_one_that_does_not_answer_is_exit_code_3_and_the_others_are_shown(
    pegaflow: CommandLine,
) -> None:
    with http_daemon(_source()) as url:
        outcome = pegaflow("top", "--once", "--json", "--url", url, "--url", "127.0.0.1:1")
    document = json.loads(outcome.out)
    jsonschema.validate(document, schema("top"))
    assert (outcome.code, len(document["hosts"])) == (3, 1)
    assert [gap["host"] for gap in document["unanswered"]] == ["127.0.0.1:1"]
    assert "http://127.0.0.1:1/v1/status does not answer" in outcome.err


@pytest.mark.parametrize("form", ["--stat", "--csv", "--json"])
def test_the_last_reading_of_some_gives_the_exit_code(pegaflow: CommandLine, form: str) -> None:
    args = ("top", form, "-n", "2", "-i", "100ms")
    outcome = pegaflow(*args, "--url", "127.0.0.1:1")
    assert outcome.code == 3
    assert outcome.out.count("127.0.0.1:1/v1/status does not answer") == 2
    with http_daemon(_source()) as url:
        assert pegaflow(*args, "--url", url).code == 0
    with http_daemon(_source(offline_after_s=10)) as url:
        assert pegaflow(*args, "--url", url).code == 5


def test_a_headless_recorder_ends_with_what_it_has_told(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    args = ("--headless", "--record", str(tmp_path / "r"), "-n", "1", "--url", "127.0.0.1:1")
    outcome = pegaflow("top", *args)
    assert (outcome.code, outcome.err.count("does not answer")) == (3, 1)


def test_one_that_hangs_is_exit_code_4(pegaflow: CommandLine) -> None:
    # Connections are taken by the kernel, and nobody reads them.
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        url = f"127.0.0.1:{hangs.getsockname()[1]}"
        outcome = pegaflow("top", "--once", "--json", "--url", url, "--timeout", "200ms")
    document = json.loads(outcome.out)
    jsonschema.validate(document, schema("top"))
    assert (outcome.code, document["hosts"]) == (4, [])
    assert "did not answer within 0.2 s" in outcome.err


def test_no_daemon_at_the_socket_is_exit_code_3(pegaflow: CommandLine) -> None:
    outcome = pegaflow("top", "--once")
    assert (outcome.code, outcome.err) == (3, "pegaflow: no daemon answers on the socket\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--json", "--csv"], "--json and --csv are given; leave all but one out"),
        (["--once", "--count", "2"], "--once and --count are given; leave one out"),
        (["--interval", "1ms"], "--interval '1ms' cannot be used; allowed: a duration such as"),
        (["--url", "ftp://x"], "url 'ftp://x' cannot be used; allowed: an address such as"),
        (["--demo", "--url", "x:1"], "--demo and --url are given; leave one out"),
        (["--replay", "f", "--url", "x:1"], "--replay and --url are given; leave one out"),
        (["--replay", "/no/file"], "/no/file cannot be replayed ("),
        (["--allow-actions"], "--allow-actions and --token-file FILE go together"),
        (["--token-file", "f"], "--allow-actions and --token-file FILE go together"),
        (
            ["--allow-actions", "--token-file", "f", "--demo"],
            "--allow-actions and --demo are given; leave one out",
        ),
        (
            ["--allow-actions", "--token-file", "/no/file"],
            "the token file /no/file cannot be used (No such file or directory); give a copy of",
        ),
        (
            ["--allow-actions", "--token-file", "/dev/null"],
            "the token file /dev/null cannot be used (it is empty); give a copy of",
        ),
        (["--headless"], "--headless is about a recording; give --record FILE too"),
        (["--record", "f", "--retention", "1s"], "--retention '1s' cannot be used; allowed: a"),
        (["--record", "/no/file"], "the recording /no/file cannot be written: No such file"),
        (["--theme", "moon"], "theme 'moon' cannot be used; allowed: textual-dark, "),
        (["--threshold", "x=1,2"], "threshold 'x=1,2' cannot be used; allowed: NAME="),
    ],
)
def test_mistakes_are_told(pegaflow: CommandLine, args: list[str], message: str) -> None:
    outcome = pegaflow("top", "--once", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_a_real_daemon_is_found_by_its_socket_and_fits_the_schema(host: Host) -> None:
    host.serve("--ssd", f"{host.directory}/ssd=64MiB")
    done = host.run("top", "--once", "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("top"))
    assert (done.returncode, done.stderr) == (0, "")
    assert document["hosts"][0]["host"] == "local"
    assert {latency["name"] for latency in document["hosts"][0]["latencies"]} == {
        "lookup",
        "fetch",
        "save",
        "load",
        "ssd read",
        "ssd write",
    }
    text = host.run("top", "--once").stdout
    assert text.splitlines()[0] == StatLines(["local"]).heading


def test_without_textual_the_live_view_says_what_to_install(
    pegaflow: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    for name in [name for name in sys.modules if name.startswith("pegaflow.tui")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("pegaflow.cli.top.look.can_be_live", lambda _: True)
    outcome = pegaflow("top", "--demo")
    assert outcome.code == 2
    assert "`pip install 'pegaflow-kv[tui]'`, or use --stat" in outcome.err


def test_a_recording_gives_the_lines_that_were_written_when_it_was_made(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    file = str(tmp_path / "recording")
    live = pegaflow("top", "--demo", "--csv", "-n", "3", "-i", "100ms", "--record", file)
    again = pegaflow("top", "--replay", file, "--csv")
    assert again.out == live.out
    assert again.out.count("\n") == 7
    assert pegaflow("top", "--replay", file, "--csv", "-n", "1").out.count("\n") == 3


@pytest.mark.parametrize("retention", [(), ("--retention", "1h")])
@pytest.mark.parametrize("name", ["trace.jsonl", "link", "trace.jsonl.gz"])
def test_a_file_with_something_else_is_not_recorded_into(
    pegaflow: CommandLine, tmp_path: Path, name: str, retention: tuple[str, ...]
) -> None:
    trace = write_lines(tmp_path / "trace.jsonl", conversations(2))
    (tmp_path / "trace.jsonl.gz").write_bytes(gzip.compress(trace.read_bytes()))
    (tmp_path / "link").symlink_to(trace)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    file = tmp_path / name
    outcome = pegaflow("top", "--demo", "--record", str(file), "--headless", "-n", "1", *retention)
    assert (outcome.code, outcome.err) == (
        2,
        f"pegaflow: {file} is there and is no recording, so that nothing is recorded into it; "
        "give a new file, or one that `pegaflow top --record FILE` wrote\n",
    )
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_the_end_of_a_recording_fits_the_schema(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "recording")
    outcome = pegaflow("top", "--demo", "-n", "2", "-i", "100ms", "--record", file, "--headless")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    document = pegaflow("top", "--replay", file, "--once", "--json").json("top")
    assert [host["host"] for host in document["hosts"]] == ["gpu-1", "gpu-2"]
    assert not document["hosts"][0]["window"]["since_start"]


def test_a_headless_recorder_says_who_does_not_answer(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    file = str(tmp_path / "recording")
    with http_daemon(_source()) as url:
        outcome = pegaflow(
            *("top", "--record", file, "--headless", "-n", "3", "-i", "100ms"),
            *("--url", url, "--url", "127.0.0.1:1"),
        )
    assert (outcome.code, outcome.out) == (3, "")
    # Once, although it was asked three times.
    assert outcome.err.count("127.0.0.1:1: http://127.0.0.1:1/v1/status does not answer") == 1


def test_daemons_of_the_file_are_looked_at_by_name(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "top.toml"
    with http_daemon(_source()) as url:
        file.write_text(f'[hosts]\nalpha = "{url}"\nbeta = "{url}"\n', encoding="utf-8")
        document = pegaflow("top", "--once", "--json", "--top-config", str(file)).json("top")
        single = pegaflow("top", "--once", "--json", "--top-config", str(file), "--url", url)
    assert [host["host"] for host in document["hosts"]] == ["alpha", "beta"]
    assert len(single.json("top")["hosts"]) == 1


def test_thresholds_of_the_command_line_win_over_the_file_s(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "top.toml"
    file.write_text('[thresholds]\nmiss = "1,2"\nmemory = "1,2"\n', encoding="utf-8")
    with http_daemon(_source()) as url:
        args = ("top", "--once", "--json", "--url", url, "--top-config", str(file))
        document = pegaflow(*args, "--threshold", "miss=off").json("top")
    assert [alert["subject"] for alert in document["hosts"][0]["alerts"]] == ["memory"]
