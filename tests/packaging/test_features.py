"""There is one build: no crate has features that could be left out."""

import tomllib
from pathlib import Path

import pytest

from tests.packaging.checkout import ROOT

_CRATES = sorted((ROOT / "native").glob("*/Cargo.toml"))


@pytest.mark.parametrize("manifest", _CRATES, ids=lambda path: path.parent.name)
def test_no_crate_has_features(manifest: Path) -> None:
    crate = tomllib.loads(manifest.read_text(encoding="utf-8"))

    assert "features" not in crate
    assert not [name for name, of in crate.get("dependencies", {}).items() if _is_optional(of)]


def _is_optional(dependency: object) -> bool:
    return isinstance(dependency, dict) and bool(dependency.get("optional", False))
