"""A daemon that sees a GPU, or the stand-in for one."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Final

import pytest

from tests.engine.daemon import DaemonProcess
from tests.fence.engine_memory import Shape
from tests.gpu.driver import ON_GPU
from tests.gpu.gpu_engine import GpuEngine
from tests.gpu.line_process import ROOT

PROGRAM: Final = (sys.executable, "-m", "pegaflow")
"""The command line of this interpreter, also where it is not installed beside it."""

SHAPE: Final = Shape(num_blocks=32, layers=8, segment_bytes=32 << 10)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What makes a process find the driver."""
    if ON_GPU:
        return {}
    native = ROOT / "native"
    built = subprocess.run(
        ["cargo", "build", "--locked", "--quiet", "--package", "pegaflow-cuda-stand-in"],
        cwd=native,
        check=True,
    )
    assert built.returncode == 0
    target = subprocess.run(
        ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"],
        cwd=native,
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout
    directory = tmp_path_factory.mktemp("driver")
    library = target.split('"target_directory":"')[1].split('"')[0] + "/debug/libcuda_stand_in.so"
    shutil.copy(library, directory / "libcuda.so")
    (directory / "libnvidia-ml.so.1").symlink_to("libcuda.so")
    return {"LD_LIBRARY_PATH": str(directory)}


@pytest.fixture(params=["auto", "gather"])
def strategy(request: pytest.FixtureRequest) -> str:
    """How the daemon copies."""
    return str(request.param)


@pytest.fixture
def daemon(environment: Mapping[str, str], strategy: str) -> Iterator[DaemonProcess]:
    options = [f"--copy-strategy={strategy}"]
    with DaemonProcess(environment=environment, options=options, program=PROGRAM) as daemon:
        yield daemon


@pytest.fixture
def start_engine(
    daemon: DaemonProcess, environment: Mapping[str, str]
) -> Iterator[Callable[..., GpuEngine]]:
    """Starts an engine; with a ``namespace`` of another it shares that one's blocks."""
    with ExitStack() as engines:

        def start(namespace: bytes | None = None) -> GpuEngine:
            return engines.enter_context(GpuEngine(daemon.socket, SHAPE, environment, namespace))

        yield start
