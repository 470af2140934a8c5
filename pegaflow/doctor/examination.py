"""All checks, in order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pegaflow.config.ssd import SsdPath
from pegaflow.doctor import (
    daemon,
    disks,
    gpus,
    huge_pages,
    io_uring,
    kernel,
    memlock,
    numa,
    ptrace,
    rdma,
    round_trip,
    self_tests,
    shared_memory,
    vllm,
)
from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.models import Status

if TYPE_CHECKING:
    from pegaflow.client import Client


@dataclass(frozen=True)
class Wanted:
    """What is looked at beside the machine."""

    client: "Client"
    python: str
    """The interpreter that runs vLLM."""
    ssd: Sequence[SsdPath]
    """The paths of the configuration, for a daemon that does not run."""
    disks: Sequence[str]
    """More directories to measure."""


def examine(
    machine: Machine, wanted: Wanted, begin: Callable[[str], None] = lambda name: None
) -> Iterator[Finding]:
    """Everything, one check after the other; ``begin`` hears of those that take some time."""
    for check in (kernel, memlock, shared_memory, huge_pages, numa, ptrace, io_uring):
        yield from check.check(machine)
    begin("daemon")
    status = daemon.ask(wanted.client.status, wanted.client.socket)
    begin("disks")
    paths = wanted.ssd if isinstance(status, Finding) else _paths(status)
    yield from disks.check(machine, paths, wanted.disks)
    if isinstance(status, Finding):
        yield from gpus.check(machine, None)
        yield status
    else:
        yield from gpus.check(machine, status.gpus)
        yield from daemon.check(status)
        yield from self_tests.check(status)
        if status.state in ("ready", "degraded"):
            begin("round trip")
            yield from round_trip.check(status, wanted.client.evict_namespace)
    yield from rdma.check(machine)
    begin("vllm")
    yield from vllm.check(machine, wanted.python)


def _paths(status: Status) -> list[SsdPath]:
    """What a running daemon has, whatever its configuration says by now."""
    paths = status.ssd.paths if status.ssd is not None else ()
    return [SsdPath(path.path, path.capacity_bytes) for path in paths]
