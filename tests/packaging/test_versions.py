"""One version everywhere; another one, or no native module, is refused with a sentence."""

import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from pegaflow import __version__, _native
from tests.packaging.checkout import ROOT


def _import_error(script: str, directory: Path) -> str:
    """The last line that ``script`` says when its import of pegaflow fails."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        cwd=directory,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_package_native_module_and_distribution_have_one_version() -> None:
    cargo = tomllib.loads((ROOT / "native/Cargo.toml").read_text(encoding="utf-8"))
    assert {
        __version__,
        _native.VERSION,
        metadata.version("pegaflow-kv"),
        cargo["workspace"]["package"]["version"],
    } == {__version__}


def test_a_native_module_of_another_version_is_refused() -> None:
    script = (
        "import sys, types; native = types.ModuleType('pegaflow._native'); native.VERSION = '9.9'; "
        "sys.modules['pegaflow._native'] = native; import pegaflow"
    )
    said = _import_error(script, ROOT)
    assert said.startswith(f"ImportError: pegaflow {__version__} has the native module of 9.9; ")


def test_a_checkout_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    (tmp_path / "pegaflow").mkdir()
    for name in ("__init__.py", "version.py"):
        shutil.copy(ROOT / "pegaflow" / name, tmp_path / "pegaflow" / name)
    assert _import_error("import pegaflow", tmp_path) == (
        "ImportError: pegaflow's native module is not built; `make build` builds it"
    )
