"""Commands where the locale's encoding is not UTF-8, and what users name is not ASCII."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import operated, ssd_path, status_document
from tests.cli.installed import Host
from tests.planning.traces import conversations, write_lines

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
UTF8 = {"LC_ALL": "C.UTF-8"}
LOCALES = {"ascii": ASCII, "utf-8": UTF8}
TEXT = "schönes-日本"
NAMES = {
    "umlaut": "ö.jsonl".encode(),
    "wide": "日本.jsonl".encode(),
    "no UTF-8": b"\xff\xc3.jsonl",
    "lines": b"a\nb\x1b[2J\xe2\x80\xa8.jsonl",
}


@pytest.fixture(params=LOCALES.values(), ids=list(LOCALES))
def abroad(request: pytest.FixtureRequest) -> Iterator[Host]:
    """A host all of whose files are in a directory with a name that is not ASCII."""
    with tempfile.TemporaryDirectory(prefix="pega-") as directory:
        place = Path(directory) / os.fsdecode(TEXT.encode())
        place.mkdir()
        host = Host(place)
        host.environ |= request.param
        try:
            yield host
        finally:
            host.close()


def _said(host: Host, *args: str, code: int = 0) -> str:
    done = host.run(*args)
    assert "Traceback" not in done.stderr and done.returncode == code, done.stderr
    return done.stdout


def _document(host: Host, *args: str) -> dict[str, Any]:
    said = _said(host, *args, "--json")
    assert said.count("\n") == 1
    document: dict[str, Any] = json.loads(said)
    return document


def _daemon_path(path: Path) -> str:
    return os.fsencode(path).decode()


@pytest.mark.parametrize("command", [[], ["plan"], ["top"], ["vllm"]])
def test_help_is_there(abroad: Host, command: list[str]) -> None:
    assert "--help" in _said(abroad, *command, "--help")


def test_a_daemon_lives_its_life(abroad: Host) -> None:
    place = _daemon_path(abroad.directory)
    ssd = abroad.directory / "ssd"
    ready = _document(abroad, "serve", "--detach", f"--ssd={ssd}=64MiB")
    assert ready["socket"] == f"{place}/daemon.sock"
    assert ready["log_file"] == f"{place}/daemon.log"
    for command in ("status", "tier list", "namespace list", "engine list", "config show"):
        assert _said(abroad, *command.split())
        assert _document(abroad, *command.split())["schema"]
    assert _document(abroad, "tier", "list")["tiers"][1]["path"] == f"{place}/ssd"
    assert _said(abroad, "tier", "evict", "ssd", "100%", f"--path={ssd}", "--yes")
    added = _document(abroad, "tier", "add-path", f"{ssd}-2=64MiB")
    assert added["path"] == f"{place}/ssd-2" and Path(f"{ssd}-2").is_dir()
    assert f"{ssd.name}-2" in _said(abroad, "tier", "remove-path", f"{ssd}-2", "--yes")
    assert _said(abroad, "trace", "record", str(abroad.directory / "lookups"))
    assert (abroad.directory / "lookups").is_dir()
    assert _said(abroad, "trace", "record", "--stop")
    assert _said(abroad, "top", "--once", "--stat")
    assert _said(abroad, "top", "--once", "--csv")
    restarted = _document(abroad, "restart")
    assert restarted["socket"] == f"{place}/daemon.sock" and restarted["pid"] != ready["pid"]
    assert [path["path"] for path in abroad.status()["ssd"]["paths"]] == [f"{place}/ssd"]
    assert _said(abroad, "stop", "--purge")


def test_settings_in_a_file_are_found(abroad: Host) -> None:
    file = abroad.directory / "config/pegaflow/config.toml"
    file.parent.mkdir(parents=True)
    place = _daemon_path(abroad.directory)
    file.write_text(f'log_file = "{place}/own.log"\nssd = "{place}/ssd=64MiB"', encoding="utf-8")
    assert "no problems" in _said(abroad, "config", "check")
    ready = _document(abroad, "serve", "--detach")
    assert ready["log_file"] == f"{place}/own.log"
    assert (abroad.directory / "own.log").is_file() and (abroad.directory / "ssd").is_dir()


@pytest.mark.parametrize("key", ["socket", "ssd"])
@pytest.mark.parametrize("name", ["no UTF-8", "lines"])
def test_a_setting_that_no_daemon_could_tell_is_refused(abroad: Host, key: str, name: str) -> None:
    path = f"{abroad.directory}/{os.fsdecode(NAMES[name])}"
    text = f"{path}=64MiB" if key == "ssd" else path
    done = abroad.run("serve", "--detach", f"--{key.replace('_', '-')}={text}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"pegaflow: {key} = ") and "allowed: " in done.stderr
    assert list(abroad.directory.iterdir()) == []


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_trace_of_any_name_is_read(abroad: Host, name: bytes) -> None:
    trace = abroad.directory / os.fsdecode(name)
    missing = abroad.run("trace", "info", str(trace))
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert missing.stderr.startswith("pegaflow: the trace ")
    assert missing.stderr.removesuffix("\n").isprintable()
    lines = list(conversations(1, 20))
    lines[3]["note"] = TEXT
    write_lines(trace, lines)
    assert _document(abroad, "trace", "info", str(trace))["requests"] == 20
    for command in (["trace", "info"], ["plan", "--capacity-blocks=10", "--trace"]):
        assert _said(abroad, *command, str(trace))
    picture = abroad.directory / "plan.svg"
    _said(abroad, "plan", "--capacity-blocks=10", f"--trace={trace}", f"--plot={picture}")
    assert picture.read_bytes().decode().startswith("<svg")


def test_hosts_of_any_name_are_told(abroad: Host) -> None:
    file = abroad.directory / "top.toml"
    file.write_text(f'[hosts]\n"{TEXT}" = "http://127.0.0.1:1"\n', encoding="utf-8")
    for form in ("--json", "--csv", "--stat"):
        done = abroad.run("top", f"--top-config={file}", "--once", form)
        assert done.returncode == 3
        assert done.stderr.startswith("pegaflow: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("typed", ["/mnt/ö", "/mnt/\udcc3\udcb6"], ids=["utf-8", "ascii"])
def test_what_is_typed_is_what_is_meant(pegaflow: CommandLine, typed: str) -> None:
    ssd = status_document()["ssd"] | {"paths": [ssd_path("/mnt/ö")]}
    result = operated("tier-evict", tier="ssd", blocks=1, bytes=1, kept_blocks=0, kept_bytes=0)
    pegaflow.daemon = StandInDaemon(
        "/unused",
        status_answer=json.dumps(status_document(ssd=ssd)),
        results={"tier-evict": result},
    )
    evict = ("tier", "evict", "ssd", "100%", "--path", typed)
    assert pegaflow(*evict, typed="\udcff\n").code == 1
    assert pegaflow(*evict, typed=f"{typed}\n").code == 0
