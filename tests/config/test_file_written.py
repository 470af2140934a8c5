"""The file that ``pegaflow config init`` writes."""

import tempfile
from pathlib import Path

from hypothesis import given

from pegaflow.config import SETTINGS, load
from pegaflow.config.write import as_toml
from tests.config.settings_texts import some_settings

HOME = {"HOME": "/nonexistent"}


@given(settings=some_settings())
def test_it_reads_back_as_what_was_in_force(settings: dict[str, str]) -> None:
    loaded = load(settings, environ=HOME)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "config.toml"
        file.write_text(as_toml(loaded), encoding="utf-8")
        again = load(config=str(file), environ=HOME)
    assert again.config == loaded.config
    in_file = {key for key, value in again.values.items() if value.source == "file"}
    assert in_file == settings.keys()


def test_it_explains_every_setting() -> None:
    text = as_toml(load(environ=HOME)).replace("\n# ", " ")
    for key, setting in SETTINGS.items():
        assert f"{key} = " in text
        assert setting.help in text
        assert setting.kind.allowed in text
