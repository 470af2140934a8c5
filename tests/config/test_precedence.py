"""Defaults < file < environment < flags, with the origin of every value."""

import dataclasses
import tempfile
from pathlib import Path

import toml
from hypothesis import given

from pegaflow.config import SETTINGS, DaemonConfig, load, resolve_socket
from tests.config.settings_texts import some_settings

HOME = {"HOME": "/nonexistent"}


@given(in_file=some_settings(), in_environment=some_settings(), in_flags=some_settings())
def test_the_highest_layer_that_has_a_setting_decides(
    in_file: dict[str, str], in_environment: dict[str, str], in_flags: dict[str, str]
) -> None:
    environ = HOME | {SETTINGS[key].variable: text for key, text in in_environment.items()}
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "config.toml"
        file.write_text(toml.dumps(in_file), encoding="utf-8")
        loaded = load(in_flags, config=str(file), environ=environ)
    for key, setting in SETTINGS.items():
        layers = [
            (in_flags, "flag", setting.flag),
            (in_environment, "environment", setting.variable),
            (in_file, "file", str(file)),
            ({key: setting.default_text(environ)}, "default", ""),
        ]
        texts, source, where = next(layer for layer in layers if key in layer[0])
        value = loaded.values[key]
        assert (value.text, value.source, value.where) == (texts[key], source, where)
        assert value.value == setting.kind.parse(texts[key])
        assert getattr(loaded.config, key) == value.value


@given(settings=some_settings())
def test_the_canonical_text_means_the_same(settings: dict[str, str]) -> None:
    loaded = load(settings, environ=HOME)
    canonical = {key: value.canonical for key, value in loaded.values.items()}
    assert load(canonical, environ=HOME).config == loaded.config


def test_numbers_in_the_file_need_no_quotes(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("pool_size = 1048576\nlease_ttl = 1.5\ncopy_threads = 4\n", encoding="utf-8")
    config = load(config=str(file), environ=HOME).config
    assert (config.pool_size, config.lease_ttl, config.copy_threads) == (1 << 20, 1.5, 4)


def test_an_empty_variable_is_not_set() -> None:
    loaded = load(environ=HOME | {"PEGAFLOW_POOL_SIZE": ""})
    assert loaded.values["pool_size"].source == "default"


def test_the_socket_follows_the_rule_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('socket = "/run/in-file.sock"\n', encoding="utf-8")
    environ = HOME | {"PEGAFLOW_CONFIG": str(file)}
    assert resolve_socket("/x.sock", environ=environ | {"PEGAFLOW_SOCKET": "/e.sock"}) == "/x.sock"
    assert resolve_socket(environ=environ | {"PEGAFLOW_SOCKET": "/e.sock"}) == "/e.sock"
    assert resolve_socket(environ=environ) == "/run/in-file.sock"
    assert resolve_socket(environ=HOME) == "/run/pegaflow/daemon.sock"
    assert resolve_socket(environ={"XDG_RUNTIME_DIR": "/run/user/7"}) == (
        "/run/user/7/pegaflow/daemon.sock"
    )


def test_the_socket_is_found_beside_mistakes_in_other_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'socket = "/run/in-file.sock"\npool_size = "much"\nnonsense = 1\n', encoding="utf-8"
    )
    assert resolve_socket(config=str(file), environ=HOME) == "/run/in-file.sock"


@given(settings=some_settings())
def test_a_daemon_s_settings_make_the_same_daemon(settings: dict[str, str]) -> None:
    settings["pool_size"] = settings.get("pool_size", "1GiB").replace("auto", "1GiB")
    daemon = DaemonConfig.of(load(settings, environ=HOME))
    again = DaemonConfig.of(load(daemon.settings(), environ=HOME))
    assert again == dataclasses.replace(daemon, pool_size_origin="--pool-size")
    assert daemon.settings().keys() == SETTINGS.keys()


def test_switches_and_lists_may_be_toml_s_own(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('warm_on_start = true\nssd = ["/mnt/a=1gb", "/mnt/b=2gb"]\n', encoding="utf-8")
    loaded = load(config=str(file), environ=HOME)
    assert loaded.config.warm_on_start is True
    assert loaded.values["ssd"].text == "/mnt/a=1gb,/mnt/b=2gb"
    assert [path.capacity_bytes for path in loaded.config.ssd or ()] == [1 << 30, 2 << 30]
