"""RDMA adapters, as pyverbs lists them; the remote tier will want one."""

from collections.abc import Iterator, Sequence
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine

_CLASS: Final = "/sys/class/infiniband"


def check(machine: Machine) -> Iterator[Finding]:
    """Which there are, and whether their links are up."""
    known = machine.names(_CLASS)
    try:
        names: Sequence[str] = machine.rdma_devices()
        evidence = f"pyverbs lists {', '.join(names) or 'none'}"
    except ImportError as error:
        if known:
            text = f"{', '.join(known)} cannot be looked at without pyverbs"
            remedy = "install pyverbs of the system's own rdma-core (`apt install python3-pyverbs`)"
            yield Finding("rdma", "note", text, f"pyverbs cannot be imported: {error}", remedy)
        else:
            evidence = f"{_CLASS} has no device, and pyverbs cannot be imported: {error}"
            yield Finding("rdma", "note", "there is no adapter; nothing needs one yet", evidence)
        return
    if not names:
        yield Finding("rdma", "note", "there is no adapter; nothing needs one yet", evidence)
    for name in names:
        yield _adapter(machine, name)


def _adapter(machine: Machine, name: str) -> Finding:
    ports = {
        port: (
            (machine.read(f"{_CLASS}/{name}/ports/{port}/state") or "unknown").split(": ")[-1],
            machine.read(f"{_CLASS}/{name}/ports/{port}/rate") or "unknown rate",
        )
        for port in machine.names(f"{_CLASS}/{name}/ports")
    }
    evidence = f"{_CLASS}/{name}: " + (
        ", ".join(f"port {port} is {state}, {rate}" for port, (state, rate) in ports.items())
        or "no port"
    )
    if any(state == "ACTIVE" for state, _ in ports.values()):
        return Finding("rdma", "ok", f"{name} has a link", evidence)
    text, remedy = f"{name} has no active port", "look at its cable and switch, with `ibstat`"
    return Finding("rdma", "note", text, evidence, remedy)
