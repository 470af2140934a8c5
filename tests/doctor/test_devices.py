"""GPUs and RDMA adapters."""

import os
from pathlib import Path

import pytest

from pegaflow.doctor import gpus, rdma
from pegaflow.doctor.this_machine import this_machine
from pegaflow.gpu_models import Gpu, GpuEngine, Gpus
from tests.doctor.fake_machine import machine

VERSION = "/proc/driver/nvidia/version"
SAID = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build\n"
    "GCC version:  gcc version 12.3.0\n"
)
MODEL = {"/proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t NVIDIA H200\nIRQ: 1\n"}


def test_without_a_driver_there_is_no_gpu(tmp_path: Path) -> None:
    (found,) = gpus.check(machine(tmp_path), Gpus("none", "no driver", 0, ()))
    assert (found.level, found.remedy) == ("note", None)


@pytest.mark.parametrize(
    ("version", "level"), [("580.82.07", "ok"), ("535.183.01", "note"), ("470.57", "problem")]
)
def test_the_driver_s_version_decides(tmp_path: Path, version: str, level: str) -> None:
    fake = machine(tmp_path, {VERSION: SAID.format(version), **MODEL})
    (found,) = gpus.check(fake, None)
    assert found.level == level
    assert version in found.evidence
    assert "NVIDIA H200" in found.evidence


def test_a_daemon_that_uses_no_gpu_of_the_machine_is_a_problem(tmp_path: Path) -> None:
    fake = machine(tmp_path, {VERSION: SAID.format("580.82.07")})
    _, found = gpus.check(fake, Gpus("none", "the driver fails with 999", 0, ()))
    assert (found.level, "fails with 999" in found.evidence) == ("problem", True)
    _, found = gpus.check(fake, Gpus("starting", None, 0, ()))
    assert found.level == "note"


def test_the_copy_strategies_of_engines_are_told(tmp_path: Path) -> None:
    engine = GpuEngine(
        pid=102,
        runs=32,
        page_bytes=2 << 20,
        copy_strategy="batch",
        ring=None,
        batch_bytes_s=50 * 2.0**30,
        plain_bytes_s=None,
    )
    device = Gpu("GPU-1", "NVIDIA H200", None, (engine,))
    fake = machine(tmp_path, {VERSION: SAID.format("580.82.07")})
    _, found = gpus.check(fake, Gpus("ready", None, 1 << 30, (device,)))
    assert found.level == "ok"
    assert found.evidence == (
        "GPU-1, 1 GiB of the pool pinned; engine 102 copies by batch (batch 50 GiB/s)"
    )


def test_a_gpu_that_is_shared_through_mps_is_a_problem(tmp_path: Path) -> None:
    device = Gpu("GPU-1", "NVIDIA H200", 528 << 20, (), is_shared_by_mps=True)
    fake = machine(tmp_path, {VERSION: SAID.format("580.82.07")})
    _, found = gpus.check(fake, Gpus("ready", None, 1 << 30, (device,)))
    assert (found.level, "MPS" in found.text) == ("problem", True)
    assert "nvidia-cuda-mps-control" in str(found.remedy)
    assert found.evidence == (
        "GPU-1, 1 GiB of the pool pinned; 528 MiB of its memory taken by the daemon"
    )


def test_no_adapter_and_no_pyverbs_is_fine(tmp_path: Path) -> None:
    (found,) = rdma.check(machine(tmp_path))
    assert (found.level, found.remedy) == ("note", None)
    (found,) = rdma.check(machine(tmp_path, rdma=[]))
    assert (found.level, found.remedy) == ("note", None)


def test_an_adapter_without_pyverbs_is_named(tmp_path: Path) -> None:
    changes = {"/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n"}
    (found,) = rdma.check(machine(tmp_path, changes))
    assert (found.level, "mlx5_0" in found.text) == ("note", True)
    assert "pyverbs" in str(found.remedy)


@pytest.mark.parametrize(("state", "level"), [("4: ACTIVE", "ok"), ("1: DOWN", "note")])
def test_an_adapter_s_ports_are_told(tmp_path: Path, state: str, level: str) -> None:
    ports = "/sys/class/infiniband/mlx5_0/ports/1"
    changes = {f"{ports}/state": state, f"{ports}/rate": "400 Gb/sec (4X NDR)"}
    (found,) = rdma.check(machine(tmp_path, changes, rdma=["mlx5_0"]))
    assert found.level == level
    assert f"port 1 is {state[3:]}, 400 Gb/sec (4X NDR)" in found.evidence


def test_what_this_machine_has_is_found_without_an_error() -> None:
    assert list(rdma.check(this_machine(os.environ)))
