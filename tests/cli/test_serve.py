"""``pegaflow serve``, with the native daemon replaced."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pegaflow.errors import ConfigError
from tests.cli.command_line import CommandLine

READY = {
    "socket": "/run/pegaflow/daemon.sock",
    "http_addr": "127.0.0.1:9091",
    "pid": 77,
    "boot_id": "00112233445566aa",
    "pool_bytes": 64 << 20,
    "pool_kind": "tmpfs",
    "pool_path": "/dev/shm/pegaflow/pool",
    "taken_over_blocks": 0,
    "taken_over_bytes": 0,
    "warnings": [],
}


class Served:
    """A daemon that answers at once and ends; keeps what it was given."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}

    def __call__(
        self, config_json: str, ready: Callable[[str], None], successor: Sequence[str]
    ) -> None:
        self.config = json.loads(config_json)
        ready(json.dumps(READY))


@pytest.fixture
def served(pegaflow: CommandLine) -> Served:
    pegaflow.serve = served = Served()
    return served


def test_one_line_says_that_it_is_ready(pegaflow: CommandLine, served: Served) -> None:
    outcome = pegaflow("serve", "--pool-size", "64MiB")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "pegaflow 0.1.0 is ready: socket /run/pegaflow/daemon.sock, http 127.0.0.1:9091, "
        "pool 64 MiB (tmpfs), pid 77\n"
    )


def test_the_line_says_what_was_taken_over(pegaflow: CommandLine) -> None:
    taken_over = {"taken_over_blocks": 1500, "taken_over_bytes": 3 << 20}
    pegaflow.serve = lambda _config, ready, _successor: ready(json.dumps(READY | taken_over))
    outcome = pegaflow("serve", "--pool-size", "64MiB")
    assert outcome.out.endswith(", pid 77, 1,500 blocks (3 MiB) taken over\n")


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_what_is_not_as_it_should_be_is_a_warning(pegaflow: CommandLine, option: list[str]) -> None:
    sentence = "ssd path /mnt/a is offline: it cannot be made"
    pegaflow.serve = lambda _config, ready, _successor: ready(
        json.dumps(READY | {"warnings": [sentence]})
    )
    outcome = pegaflow("serve", "--pool-size", "64MiB", *option)
    assert (outcome.code, outcome.err) == (0, f"pegaflow: {sentence}\n")


def test_scripts_get_the_line_as_json(pegaflow: CommandLine, served: Served) -> None:
    document = pegaflow("serve", "--json").json("ready")
    files = {"log_file": None, "pid_file": None}
    assert document == {"schema": "pegaflow.ready/1", "version": "0.1.0"} | READY | files


def test_an_automatic_pool_is_explained(pegaflow: CommandLine, served: Served) -> None:
    outcome = pegaflow("serve")
    said = "pegaflow: pool_size auto, 50% of 128 MiB of free memory: 64 MiB\n"
    assert (outcome.code, outcome.err) == (0, said)


def test_the_daemon_is_given_every_flag(pegaflow: CommandLine, served: Served) -> None:
    flags = {
        "--socket": "/run/x.sock",
        "--socket-group": "wheel",
        "--http-addr": "127.0.0.1:80",
        "--pool-size": "1.5gb",
        "--pool-dir": "/mnt/huge",
        "--eviction-policy": "s3fifo",
        "--verify": "always",
        "--scrub-period": "1h",
        "--http-token-file": "/etc/pegaflow/token",
        "--ssd": "/mnt/a=1gb,/mnt/b=2gb",
        "--ssd-engine": "psync",
        "--ssd-admission": "reused",
        "--ssd-write-budget": "1tb",
        "--ssd-fetch-bytes": "64MiB",
        "--min-benefit": "1.5",
        "--record-dir": "/var/lib/x",
        "--record-size": "2gb",
        "--otlp-endpoint": "http://collector:4317",
        "--lease-ttl": "5m",
        "--copy-threads": "3",
        "--copy-strategy": "plain",
        "--max-rate": "20gb",
        "--drain-timeout": "1500ms",
        "--log-level": "debug",
        "--log-format": "json",
        "--log-file": "/var/log/x.log",
    }
    words = [text for pair in flags.items() for text in pair]
    outcome = pegaflow("serve", *words, "--ssd", "/mnt/c=3gb", "--warm-on-start")
    assert outcome.code == 0
    assert served.config == {
        "socket": "/run/x.sock",
        "socket_group": "wheel",
        "http_addr": "127.0.0.1:80",
        "pool_bytes": 3 << 29,
        "pool_size_origin": "--pool-size",
        "pool_dir": "/mnt/huge",
        "eviction_policy": "s3fifo",
        "verify": "always",
        "scrub_period_s": 3600.0,
        "http_token_file": "/etc/pegaflow/token",
        "ssd": [
            {"path": "/mnt/a", "capacity_bytes": 1 << 30},
            {"path": "/mnt/b", "capacity_bytes": 2 << 30},
            {"path": "/mnt/c", "capacity_bytes": 3 << 30},
        ],
        "ssd_engine": "psync",
        "ssd_admission": "reused",
        "ssd_write_budget_bytes": 1 << 40,
        "ssd_fetch_bytes": 64 << 20,
        "min_benefit": 1.5,
        "warm_on_start": True,
        "record_dir": "/var/lib/x",
        "record_bytes": 2 << 30,
        "otlp_endpoint": "http://collector:4317",
        "lease_ttl_s": 300.0,
        "copy_threads": 3,
        "copy_strategy": "plain",
        "max_rate_bytes_s": 20 << 30,
        "drain_timeout_s": 1.5,
        "log_level": "debug",
        "log_format": "json",
        "log_file": "/var/log/x.log",
        "pid_file": None,
    }


@pytest.mark.parametrize(
    ("environ", "endpoint"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4317"}, "http://a:4317"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4317", "OTEL_SDK_DISABLED": "true"}, None),
        (
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4317",
                "PEGAFLOW_OTLP_ENDPOINT": "http://b:4317",
            },
            "http://b:4317",
        ),
    ],
)
def test_opentelemetry_s_own_variable_names_the_endpoint(
    pegaflow: CommandLine, served: Served, environ: dict[str, str], endpoint: str | None
) -> None:
    pegaflow.environ |= environ
    assert pegaflow("serve").code == 0
    assert served.config["otlp_endpoint"] == endpoint


def test_the_file_and_the_environment_are_read(
    pegaflow: CommandLine, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('pool_size = "1gb"\neviction_policy = "s3fifo"\n', encoding="utf-8")
    pegaflow.environ["PEGAFLOW_POOL_SIZE"] = "2gb"
    pegaflow("serve", "--config", str(file))
    assert served.config["pool_bytes"] == 2 << 30
    assert served.config["pool_size_origin"] == "PEGAFLOW_POOL_SIZE"
    assert served.config["eviction_policy"] == "s3fifo"


def test_a_key_that_does_not_exist_ends_it(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('pool_sise = "1gb"\n', encoding="utf-8")
    outcome = pegaflow("serve", "--config", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"pegaflow: pool_sise in {file} is not a setting; did you mean pool_size?\n"
    )


def test_a_misspelt_variable_is_only_a_message(pegaflow: CommandLine, served: Served) -> None:
    pegaflow.environ["PEGAFLOW_POOLSIZE"] = "1gb"
    outcome = pegaflow("serve")
    assert outcome.code == 0
    assert outcome.err.startswith("pegaflow: PEGAFLOW_POOLSIZE is not a setting")


def test_what_the_daemon_refuses_is_a_usage_error(pegaflow: CommandLine) -> None:
    def refuse(config_json: str, ready: Callable[[str], None], successor: Sequence[str]) -> None:
        raise ConfigError("pool_dir = /home is not tmpfs or hugetlbfs")

    pegaflow.serve = refuse
    outcome = pegaflow("serve", "--pool-size", "1gb")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "pegaflow: pool_dir = /home is not tmpfs or hugetlbfs\n"


def test_a_pid_file_is_there_while_it_runs(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "run/daemon.pid"
    seen = []

    def serve(config_json: str, ready: Callable[[str], None], successor: Sequence[str]) -> None:
        assert not file.exists()
        ready(json.dumps(READY))
        seen.append(file.read_text(encoding="utf-8"))

    pegaflow.serve = serve
    assert pegaflow("serve", "--pid-file", str(file)).code == 0
    assert seen == [f"{os.getpid()}\n"]
    assert not file.exists()


def test_a_pid_file_of_another_process_stays(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "daemon.pid"

    def serve(config_json: str, ready: Callable[[str], None], successor: Sequence[str]) -> None:
        ready(json.dumps(READY))
        file.write_text("1\n", encoding="utf-8")

    pegaflow.serve = serve
    pegaflow("serve", "--pid-file", str(file))
    assert file.read_text(encoding="utf-8") == "1\n"
