"""The check of the native crates' dependencies."""

import importlib.util
import tomllib
from types import ModuleType
from typing import Any

import pytest

from tests.packaging.checkout import ROOT

POLICY = tomllib.loads((ROOT / "native/deny.toml").read_text(encoding="utf-8"))
LICENCES = set(POLICY["licenses"]["allow"])
CRATES_IO = "registry+https://example.invalid/crates.io-index"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_crates", ROOT / ".ci/check_crates.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0 WITH Classpath-exception-2.0", False),
        ("", False),
    ],
)
def test_licence_expressions_are_understood(
    check: ModuleType, expression: str, allowed: bool
) -> None:
    assert check.is_allowed(expression, LICENCES) is allowed


def _crate(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "version": "1.0.0", "license": "MIT", "source": CRATES_IO} | changes


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ([_crate(license="AGPL-3.0-only")], "has the licence 'AGPL-3.0-only'"),
        ([_crate(license=None)], "has the licence None"),
        ([_crate(name="openssl-sys")], "openssl-sys 1.0.0 is banned"),
        ([_crate(source="git+https://example.invalid/x")], "only crates.io is allowed"),
        ([_crate(), _crate(version="2.0.0")], "x is there in 2 versions"),
    ],
)
def test_each_fault_is_a_sentence(
    check: ModuleType, packages: list[dict[str, Any]], said: str
) -> None:
    (found,) = check.faults(packages, POLICY | {"bans": POLICY["bans"] | {"skip": []}})
    assert said in found
