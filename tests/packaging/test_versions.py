"""One version everywhere."""

import tomllib
from importlib import metadata

from pegaflow import __version__, _native
from tests.packaging.checkout import ROOT


def test_package_native_module_and_distribution_have_one_version() -> None:
    cargo = tomllib.loads((ROOT / "native/Cargo.toml").read_text(encoding="utf-8"))
    assert {
        __version__,
        _native.VERSION,
        metadata.version("pegaflow-kv"),
        cargo["workspace"]["package"]["version"],
    } == {__version__}
