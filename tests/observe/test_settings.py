"""``top.toml``: where it is found, what it says, and how mistakes are told."""

from pathlib import Path

import pytest

from pegaflow.errors import ConfigError
from pegaflow.observe.settings import TopSettings, find_settings
from pegaflow.observe.thresholds import DEFAULTS

_TEXT = """
interval = "5s"
theme = "nord"
[hosts]
gpu-1 = "http://gpu-1:9091"
gpu-2 = "gpu-2:9091"
[thresholds]
miss = "50,90"
age = "off"
[keys]
quit = "ctrl+q"
"""


def test_all_that_it_can_say(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(_TEXT, encoding="utf-8")
    found = find_settings(str(file), {})
    assert (found.interval, found.theme) == ("5s", "nord")
    assert found.hosts == {"gpu-1": "http://gpu-1:9091", "gpu-2": "http://gpu-2:9091"}
    assert found.thresholds["miss"].critical == 90
    assert found.thresholds["age"].warning is None
    assert found.thresholds["corrupt"] == DEFAULTS["corrupt"]
    assert found.keys == {"quit": "ctrl+q"}


def test_it_lies_beside_the_user_s_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "pegaflow").mkdir()
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert find_settings(None, environ) == TopSettings()
    (tmp_path / "pegaflow/top.toml").write_text('interval = "2s"', encoding="utf-8")
    assert find_settings(None, environ).interval == "2s"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("moon = 1", "moon in .* is not a setting; allowed: interval, theme"),
        ("theme = 3", "theme = 3 in .* cannot be used; allowed: a text in quotes"),
        ("hosts = 3", "hosts in .* cannot be used; allowed: a table of"),
        ("[hosts]\na = 3", "hosts in .* cannot be used; allowed: a table of"),
        ('[hosts]\na = "ftp://x"', r"url 'ftp://x' cannot be used; .* \(from .*\)"),
        ('[thresholds]\nmoon = "1,2"', r"threshold 'moon=1,2' cannot be used; .* \(from .*\)"),
        ("= 1", "is not TOML"),
    ],
)
def test_mistakes_are_told_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "top.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        find_settings(str(file), {})


def test_a_file_that_is_named_must_be_there() -> None:
    with pytest.raises(ConfigError, match=r"cannot read /no/file: No such file"):
        find_settings("/no/file", {})
