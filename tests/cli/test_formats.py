"""What commands write, whole, and their exit codes: piped, to a terminal, and as JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pegaflow.doctor import examination
from pegaflow.doctor.finding import Finding
from tests.cli.command_line import CommandLine, Outcome
from tests.cli.golden import keeps
from tests.cli.test_engine import three_engines
from tests.cli.test_events import LoggingDaemon
from tests.cli.test_status import daemon
from tests.cli.test_status_fleet import Fixed
from tests.observe.http_daemon import http_daemon

FORMS = ("piped", "terminal", "json")

FOUND = [
    Finding("kernel", "ok", "Linux 6.8.0 has what is needed", "osrelease is 6.8.0"),
    Finding("gpu", "note", "there is no NVIDIA driver", "/proc/driver/nvidia is not there"),
    Finding("daemon", "note", "no daemon answers", "/run/x is not there", "start one"),
    Finding("disk", "problem", "/a cannot be used", "/a is no directory", "run `mkdir -p /a`"),
]


@pytest.fixture
def fleet() -> Iterator[tuple[str, str]]:
    """A daemon that is ready, and one that is degraded."""
    with http_daemon(Fixed("ready")) as ready, http_daemon(Fixed("degraded")) as degraded:
        yield ready, degraded


def _outcome(pegaflow: CommandLine, form: str, *args: str) -> Outcome:
    pegaflow.is_terminal = form == "terminal"
    pegaflow.environ |= {"COLUMNS": "120", "TERM": "xterm-256color"}
    return pegaflow(*args, *(["--json"] if form == "json" else []))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("status", ["status"], 0),
        ("status_degraded", ["status"], 5),
        ("events", ["events"], 0),
        ("engine_list", ["engine", "list"], 0),
        ("tier_list", ["tier", "list"], 0),
        ("namespace_list", ["namespace", "list"], 0),
        ("unreachable", ["status"], 3),
    ],
)
def test_of_one_daemon(
    pegaflow: CommandLine, form: str, name: str, args: list[str], code: int
) -> None:
    daemons: dict[str, Callable[[], object]] = {
        "status": daemon,
        "status_degraded": lambda: daemon(state="degraded", reasons=["the pool stays small"]),
        "events": lambda: LoggingDaemon("/unused", lost=1),
        "engine_list": three_engines,
        "tier_list": daemon,
        "namespace_list": daemon,
    }
    if name in daemons:
        made = daemons[name]()
        pegaflow.daemon = made  # type: ignore[assignment]
    outcome = _outcome(pegaflow, form, *args)
    assert outcome.code == code
    assert outcome.err == ("pegaflow: no daemon answers on the socket\n" if code == 3 else "")
    if name.startswith("status") and form == "json":
        # As it came: the schema documents it.
        assert outcome.json("status") == json.loads(pegaflow.daemon.status_json())
    else:
        assert keeps(f"formats/{name}.{form}.txt", outcome.out)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["status_url", "status_all"])
def test_of_several_daemons(
    pegaflow: CommandLine, fleet: tuple[str, str], tmp_path: Path, form: str, name: str
) -> None:
    ready, degraded = fleet
    if name == "status_all":
        (tmp_path / "pegaflow").mkdir()
        hosts = f'[hosts]\ngpu-1 = "{ready}"\ngpu-2 = "{degraded}"\ngpu-3 = "127.0.0.1:1"\n'
        (tmp_path / "pegaflow/top.toml").write_text(hosts, encoding="utf-8")
        pegaflow.environ["XDG_CONFIG_HOME"] = str(tmp_path)
        outcome = _outcome(pegaflow, form, "status", "--all")
        assert outcome.err.startswith("pegaflow: gpu-3: ")
        assert outcome.code == 3
    else:
        outcome = _outcome(pegaflow, form, "status", "--url", ready, "--url", degraded)
        assert (outcome.code, outcome.err) == (5, "")
    if form == "json":
        statuses = [one["status"] for one in outcome.json("fleet")["hosts"]]
        states = [status and status["state"] for status in statuses]
        assert states == ["ready", "degraded", None][: len(states)]
        return
    out = outcome.out
    for address, shown in ((ready, "READY"), (degraded, "DEGRADED")):
        port = address.rpartition(":")[2]
        out = out.replace(f"127.0.0.1:{port}", shown)
    assert keeps(f"formats/{name}.{form}.txt", out)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "code"), [("doctor", 5), ("doctor_well", 0)])
def test_of_doctor(
    pegaflow: CommandLine, monkeypatch: pytest.MonkeyPatch, form: str, name: str, code: int
) -> None:
    found = FOUND if code else [one for one in FOUND if one.level != "problem"]
    monkeypatch.setattr(examination, "examine", lambda machine, wanted, begin: iter(found))
    outcome = _outcome(pegaflow, form, "doctor")
    assert (outcome.code, outcome.err) == (code, "")
    assert keeps(f"formats/{name}.{form}.txt", outcome.out)
