"""The wheel and the source distribution, built from this checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from pegaflow.version import VERSION
from tests.packaging.checkout import ROOT, git_files, package_files, package_modules

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both, built as ``make wheel`` builds them."""
    out = tmp_path_factory.mktemp("dist")
    maturin = Path(sys.executable).with_name("maturin")
    for command in (["sdist"], ["build", "--locked", "--release", "--quiet"]):
        subprocess.run([maturin, *command, "--out", out], cwd=ROOT, check=True)
    return out


@pytest.fixture(scope="session")
def wheel(built: Path) -> Iterator[zipfile.ZipFile]:
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        yield wheel


@pytest.fixture(scope="session")
def metadata(wheel: zipfile.ZipFile) -> Message:
    text = wheel.read(f"pegaflow_kv-{VERSION}.dist-info/METADATA").decode()
    return Parser().parsestr(text)


def test_the_wheel_has_exactly_the_package_s_files(wheel: zipfile.ZipFile) -> None:
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == package_files() | {"pegaflow/_native.abi3.so"}


def test_one_wheel_serves_all_pythons_from_3_11(built: Path) -> None:
    (path,) = built.glob("*.whl")
    name, version, python, abi, platform = path.stem.split("-")
    assert (name, version, python, abi) == ("pegaflow_kv", VERSION, "cp311", "abi3")
    assert "linux" in platform


def test_the_metadata_names_distribution_and_licence(metadata: Message) -> None:
    assert metadata["Name"] == "pegaflow-kv"
    assert metadata["Version"] == VERSION
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    extras = set(metadata.get_all("Provides-Extra", []))
    assert extras == {"dev", "gpu12", "gpu13", "plot", "rdma", "tui", "vllm"}


def test_the_wheel_brings_both_commands(wheel: zipfile.ZipFile) -> None:
    text = wheel.read(f"pegaflow_kv-{VERSION}.dist-info/entry_points.txt").decode()
    lines = {line.replace(" ", "") for line in text.splitlines() if "=" in line}
    assert lines == {
        "pegaflow=pegaflow.cli.main:main",
        "pegaflow-server=pegaflow.cli.main:serve_alias",
    }


def test_the_wheel_works_where_it_is_installed(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", tmp_path, path],
        check=True,
    )
    names = sorted(package_modules() - {"pegaflow.__main__"})
    own = [name for name in names if not name.startswith("pegaflow.connector")]
    script = f"import {', '.join(own)}; print(pegaflow._native.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == f"{tmp_path}/pegaflow/_native.abi3.so\n"


def test_the_source_distribution_has_what_a_build_needs(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    native = {
        file
        for file in git_files("native")
        if "/src/" in file or file.endswith(("Cargo.toml", "Cargo.lock"))
    }
    assert package_files() <= inside
    assert {"pyproject.toml", "LICENSE", "README.md"} <= inside
    assert native <= inside
