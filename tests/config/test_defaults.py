"""Every default is a value that its own setting accepts."""

import pytest

from pegaflow.config import SETTINGS, load

_ENVIRONS = [{"HOME": "/nonexistent"}, {"HOME": "/nonexistent", "XDG_RUNTIME_DIR": "/run/user/7"}]


@pytest.mark.parametrize("environ", _ENVIRONS, ids=["bare", "session"])
@pytest.mark.parametrize("key", SETTINGS)
def test_every_default_parses_and_reads_back(key: str, environ: dict[str, str]) -> None:
    setting = SETTINGS[key]
    text = setting.default_text(environ)
    value = setting.kind.parse(text)

    assert getattr(load(environ=environ).config, key) == value
    assert getattr(load({key: text}, environ=environ).config, key) == value
    assert getattr(load(environ=environ | {setting.variable: text}).config, key) == value
