"""Where the configuration file is looked for."""

from pathlib import Path

import pytest

from pegaflow.config.locations import find_file, user_file
from pegaflow.errors import ConfigError


def _write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_files_are_looked_for_from_the_nearest_to_the_farthest(tmp_path: Path) -> None:
    in_home = _write(tmp_path / "home/.config/pegaflow/config.toml")
    in_xdg = _write(tmp_path / "xdg/pegaflow/config.toml")
    named, explicit = _write(tmp_path / "named.toml"), _write(tmp_path / "explicit.toml")
    environ = {"HOME": str(tmp_path / "home")}
    assert find_file(None, environ) == in_home
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert find_file(None, environ) == in_xdg
    environ["PEGAFLOW_CONFIG"] = str(named)
    assert find_file(None, environ) == named
    assert find_file(str(explicit), environ) == explicit


def test_without_a_file_the_defaults_are_in_force(tmp_path: Path) -> None:
    assert find_file(None, {"HOME": str(tmp_path)}) is None


@pytest.mark.parametrize("origin", ["--config", "PEGAFLOW_CONFIG"])
def test_a_file_that_is_named_must_exist(tmp_path: Path, origin: str) -> None:
    path = str(tmp_path / "absent.toml")
    explicit = path if origin == "--config" else None
    with pytest.raises(ConfigError) as raised:
        find_file(explicit, {"PEGAFLOW_CONFIG": path})
    assert f"{path} (from {origin}) does not exist" in str(raised.value)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\(from --config\) is a directory"):
        find_file(str(tmp_path), {})


def test_a_user_without_a_home_has_no_file_of_their_own() -> None:
    assert user_file({}) is None
