"""``pegaflow config show``, ``check`` and ``init``."""

from pathlib import Path

import pytest

from pegaflow.cli.context import AppContext
from pegaflow.config import SETTINGS
from tests.cli.command_line import CommandLine
from tests.cli.golden import golden


def test_show_tells_where_each_value_is_from(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('pool_size = "64MiB"\n', encoding="utf-8")
    pegaflow.environ |= {"PEGAFLOW_CONFIG": str(file), "PEGAFLOW_LOG_LEVEL": "debug"}
    outcome = pegaflow("config", "show")
    assert outcome.out.replace(str(file), "FILE") == golden("config_show.txt")
    assert outcome.code == 0


def test_show_gives_scripts_every_setting(pegaflow: CommandLine) -> None:
    pegaflow.environ["PEGAFLOW_POOL_SIZE"] = "1gb"
    document = pegaflow("config", "show", "--json").json("config")
    settings = {setting["key"]: setting for setting in document["settings"]}
    assert settings.keys() == SETTINGS.keys()
    assert settings["pool_size"] | {"help": "", "allowed": ""} == {
        "key": "pool_size",
        "value": "1gb",
        "source": "environment",
        "where": "PEGAFLOW_POOL_SIZE",
        "default": "auto",
        "help": "",
        "allowed": "",
    }


def test_check_finds_nothing_in_a_good_file(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('pool_size = "64MiB"\n', encoding="utf-8")
    outcome = pegaflow("config", "check", "--config", str(file))
    assert (outcome.code, outcome.out) == (0, f"{file}: no problems\n")


def test_check_finds_every_mistake(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('pool_sise = "64MiB"\ncopy_threads = 0\n', encoding="utf-8")
    outcome = pegaflow("config", "check", "--config", str(file))
    assert outcome.code == 5
    assert outcome.out == (
        f"pool_sise in {file} is not a setting; did you mean pool_size?\n"
        f"copy_threads = 0 (from {file}) cannot be used; allowed: a whole number from 1 to 64\n"
    )
    document = pegaflow("config", "check", "--json", "--config", str(file)).json("check")
    assert (document["file"], document["ok"]) == (str(file), False)
    assert len(document["problems"]) == 2


def test_init_writes_the_user_s_file_once(pegaflow: CommandLine, tmp_path: Path) -> None:
    pegaflow.environ["HOME"] = str(tmp_path)
    file = tmp_path / ".config/pegaflow/config.toml"
    outcome = pegaflow("config", "init")
    assert (outcome.code, outcome.out) == (0, f"{file}\n")
    assert pegaflow("config", "check").out == f"{file}: no problems\n"
    again = pegaflow("config", "init")
    assert (again.code, again.err) == (1, f"pegaflow: {file} exists; --force overwrites it\n")
    assert pegaflow("config", "init", "--force").code == 0


def test_init_keeps_what_is_in_force(pegaflow: CommandLine, tmp_path: Path) -> None:
    pegaflow.environ["PEGAFLOW_POOL_SIZE"] = "1gb"
    file = tmp_path / "config.toml"
    pegaflow("config", "init", str(file))
    assert '\npool_size = "1gb"\n' in file.read_text(encoding="utf-8")


def test_init_says_why_it_cannot_write(pegaflow: CommandLine) -> None:
    outcome = pegaflow("config", "init", "/proc/config.toml")
    assert outcome.code == 2
    assert outcome.err.startswith("pegaflow: /proc/config.toml cannot be written (")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('pool_size = "4096"', "the pool size is 4096 bytes, allowed are 1048576 to"),
        ('pool_size = "7EiB"', "is larger than the machine's memory"),
        ('pool_dir = "/nonexistent"', "/nonexistent"),
        ('warm_on_start = true\npool_size = "64MiB"', "warm_on_start"),
        ('http_token_file = "/nonexistent"', "cannot be read"),
    ],
)
def test_check_finds_what_serve_refuses(
    pegaflow: CommandLine, tmp_path: Path, setting: str, said: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"{setting}\n", encoding="utf-8")
    checked = pegaflow("config", "check", "--config", str(file))
    assert checked.code == 5
    assert said in checked.out
    pegaflow.serve = AppContext().serve
    served = pegaflow("serve", "--config", str(file), "--socket", str(tmp_path / "daemon.sock"))
    assert (served.code, served.out) == (2, "")
    assert said in served.err


def test_check_makes_nothing(pegaflow: CommandLine, tmp_path: Path) -> None:
    pegaflow.environ["PEGAFLOW_SOCKET"] = str(tmp_path / "daemon.sock")
    pegaflow.environ["PEGAFLOW_SSD"] = f"{tmp_path}/ssd=64MiB"
    assert pegaflow("config", "check").code == 0
    assert list(tmp_path.iterdir()) == []


def test_check_finds_an_ssd_path_that_is_a_file(pegaflow: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    pegaflow.environ["PEGAFLOW_SSD"] = f"{file}=64MiB"
    outcome = pegaflow("config", "check")
    assert outcome.code == 5
    assert f'ssd path "{file}" is no directory' in outcome.out


def test_check_finds_an_ssd_path_whose_disk_is_not_mounted(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    pegaflow.environ["PEGAFLOW_SSD"] = f"{tmp_path}/mount/of/ssd=64MiB"
    outcome = pegaflow("config", "check")
    assert outcome.code == 5
    assert f'"{tmp_path}/mount" does not exist' in outcome.out
