"""A mistake is answered with the key, the value, where it is, and what is allowed."""

from pathlib import Path

import pytest

from pegaflow.config import SETTINGS, find_problems, load, suspicious_variables
from pegaflow.errors import ConfigError

HOME = {"HOME": "/nonexistent"}

REFUSED = {
    "socket": ["", "/" + "x" * 107],
    "http_addr": ["", "localhost", "127.0.0.1:65536", "127.0.0.1:http", ":9091"],
    "pool_size": ["", "0", "-1", "-64MiB", "64 parsecs", "1e9", "9000PiB", "nan"],
    "pool_dir": [""],
    "eviction_policy": ["", "mru"],
    "ssd": [
        "",
        "/mnt/a",
        "/mnt/a=",
        "/mnt/a=0",
        "/mnt/a=much",
        "=1gb",
        "mnt/a=1gb",
        "./a=1gb",
        "/mnt/a=1gb,",
        "/mnt/a=1gb,/mnt/a=2gb",
        "/mnt/a,b=1gb",
    ],
    "ssd_engine": ["", "aio"],
    "ssd_admission": ["", "some"],
    "ssd_write_budget": ["", "0", "-1gb"],
    "ssd_fetch_bytes": ["", "0"],
    "min_benefit": ["", "-1", "nan", "inf", "1001", "much"],
    "warm_on_start": ["", "yes", "2"],
    "record_size": ["", "0", "much"],
    "otlp_endpoint": [
        *("", "collector:4317", "ftp://a:4317", "http://a", "http://a:99999", "https://"),
        *("https://a/?b=c", "https://a b"),
    ],
    "lease_ttl": ["", "0s", "-1s", "10 parsecs"],
    "copy_threads": ["", "0", "65", "two"],
    "copy_strategy": ["", "kernel"],
    "max_rate": ["", "0", "fast"],
    "drain_timeout": ["", "0", "-5"],
    "log_level": ["", "loud"],
    "log_format": ["", "xml"],
}


@pytest.mark.parametrize(
    ("key", "text"), [(key, text) for key, texts in REFUSED.items() for text in texts]
)
def test_a_value_that_is_not_allowed_is_named_with_what_is(key: str, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load({key: text}, environ=HOME)
    said = str(raised.value)
    assert said == (
        f"{key} = {text!r} (from {SETTINGS[key].flag}) cannot be used; "
        f"allowed: {SETTINGS[key].kind.allowed}"
    )


def test_the_message_says_where_the_value_is_from(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('log_level = "loud"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"log_level = 'loud' \(from {file}\)"):
        load(config=str(file), environ=HOME)
    with pytest.raises(ConfigError, match=r"\(from PEGAFLOW_LOG_LEVEL\)"):
        load(environ=HOME | {"PEGAFLOW_LOG_LEVEL": "loud"})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('pool_sise = "1gb"', "pool_sise in {file} is not a setting; did you mean pool_size?"),
        ("[pool]\nsize = 1", "pool in {file} is not a setting"),
        ("zzz = 1", "zzz in {file} is not a setting; allowed: socket, socket_group"),
    ],
)
def test_a_key_that_does_not_exist_is_answered_with_one_that_does(
    tmp_path: Path, line: str, said: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        load(config=str(file), environ=HOME)
    assert str(raised.value).startswith(said.format(file=file))


@pytest.mark.parametrize("raw", ["true", "[1]", "{a = 1}", "2026-01-01"])
def test_values_of_another_type_are_refused(tmp_path: Path, raw: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"copy_threads = {raw}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"copy_threads = .* allowed: a whole number"):
        load(config=str(file), environ=HOME)


@pytest.mark.parametrize("content", [b"pool_size = ", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=f"{file} is not TOML"):
        load(config=str(file), environ=HOME)


def test_a_misspelt_variable_is_noticed_and_others_are_left_alone() -> None:
    environ = HOME | {
        "PEGAFLOW_POOLSIZE": "1gb",
        "PEGAFLOW_SERVICE_HOST": "10.0.0.1",
        "PEGAFLOW_PORT": "tcp://10.0.0.1:9091",
        "POOL_SIZE": "1gb",
    }
    assert list(suspicious_variables(environ)) == [
        "PEGAFLOW_POOLSIZE is not a setting and has no effect; did you mean PEGAFLOW_POOL_SIZE?"
    ]


def test_all_problems_are_found_at_once(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('pool_sise = 1\nlog_level = "loud"\n', encoding="utf-8")
    environ = HOME | {"PEGAFLOW_LEASE_TTL": "soon", "PEGAFLOW_LOG_FORMATT": "json"}
    found, problems = find_problems(config=str(file), environ=environ)
    assert found == file
    named = ["pool_sise", "lease_ttl", "log_level", "PEGAFLOW_LOG_FORMATT"]
    assert [problem.split()[0] for problem in problems] == named
