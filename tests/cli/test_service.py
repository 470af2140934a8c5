"""The unit of systemd in examples/: what it starts, and what it is told."""

import configparser
import shlex
import signal
import socket
import subprocess
from pathlib import Path

from pegaflow.config import Config, load
from pegaflow.units import parse_duration
from tests.cli.installed import BIN, Host

UNIT = Path(__file__).resolve().parents[2] / "examples" / "pegaflow.service"
PATIENCE_S = 60.0


def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text(encoding="utf-8"))
    return unit["Service"]


def test_its_command_says_that_it_answers_lives_and_ends(host: Host) -> None:
    program, *arguments = shlex.split(service()["ExecStart"])
    arguments = [argument.replace("/run/pegaflow", str(host.directory)) for argument in arguments]
    name = str(host.directory / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(PATIENCE_S)
        watchdog = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "500000"}
        with subprocess.Popen(
            [BIN / Path(program).name, *arguments],
            env=host.environ | watchdog,
            stdout=subprocess.DEVNULL,
        ) as daemon:
            said = [manager.recv(4096).decode() for _ in range(3)]
            status = host.status()
            daemon.send_signal(signal.SIGTERM)
            while not said[-1].startswith("STOPPING=1"):
                said.append(manager.recv(4096).decode())
    assert said[0].startswith("READY=1\nSTATUS=serving, 16 MiB")
    assert set(said[1:-1]) == {"WATCHDOG=1"}
    assert (status["pid"], status["supervised"]) == (daemon.pid, True)
    assert daemon.returncode == 0


def test_it_waits_for_the_drain_and_kills_what_hangs() -> None:
    settings: Config = load(environ={"HOME": "/nonexistent"}).config
    unit = service()
    assert parse_duration(unit["TimeoutStopSec"]) > settings.drain_timeout
    assert (unit["Type"], unit["Restart"], unit["WatchdogSignal"]) == (
        "notify",
        "always",
        "SIGKILL",
    )
    assert f"/run/{unit['RuntimeDirectory']}/daemon.sock" == settings.socket
