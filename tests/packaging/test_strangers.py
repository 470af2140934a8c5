"""Wheels of the published PegaFlow install the same import package: they are refused."""

from pathlib import Path

import pytest

from pegaflow.distribution import refuse_strangers
from pegaflow.errors import ConfigError


def _install(directory: Path, name: str, version: str) -> None:
    info = directory / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )


@pytest.mark.parametrize("name", ["pegaflow-llm", "pegaflow-llm-cu13"])
def test_a_wheel_of_the_published_one_is_refused(tmp_path: Path, name: str) -> None:
    _install(tmp_path, name, "0.25.1")
    with pytest.raises(ConfigError) as raised:
        refuse_strangers([str(tmp_path)])
    assert str(raised.value).startswith(
        f"{name} 0.25.1 installs an import package of the same name"
    )
    assert f"uninstall {name} and install pegaflow-kv again" in str(raised.value)


def test_our_own_and_others_are_not(tmp_path: Path) -> None:
    for name in ("pegaflow-kv", "pegaflow", "vllm"):
        _install(tmp_path, name, "0.1.0")
    (tmp_path / "pegaflow_llm_notes.txt").touch()
    refuse_strangers([str(tmp_path), str(tmp_path / "absent"), ""])


def test_this_environment_has_none() -> None:
    refuse_strangers()
