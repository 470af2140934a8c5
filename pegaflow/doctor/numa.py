"""NUMA nodes: where memory is near."""

import re
from collections.abc import Iterator
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.units import format_size

_NODES: Final = "/sys/devices/system/node"


def check(machine: Machine) -> Iterator[Finding]:
    """How many nodes there are, and the memory of each."""
    nodes = [name for name in machine.names(_NODES) if re.fullmatch(r"node\d+", name)]
    memory = {name: _memory(machine, name) for name in nodes}
    evidence = f"{_NODES} has " + (
        ", ".join(f"{name} with {format_size(size)}" for name, size in memory.items()) or "no node"
    )
    if len(nodes) < 2:
        yield Finding("numa", "ok", "all memory is equally near", evidence)
        return
    text = f"{len(nodes)} nodes: copies between them are slower than within one"
    remedy = (
        "the pool takes memory of the nodes of the GPUs in turn, else of all; for engines on one "
        "node alone, run `numactl --cpunodebind=N --preferred=N pegaflow serve` with that node"
    )
    yield Finding("numa", "note", text, evidence, remedy)


def _memory(machine: Machine, node: str) -> int:
    found = re.search(r"MemTotal:\s+(\d+) kB", machine.read(f"{_NODES}/{node}/meminfo") or "")
    return int(found[1]) * 1024 if found else 0
