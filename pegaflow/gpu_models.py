"""The GPUs in the daemon's status."""

from dataclasses import dataclass

from pegaflow.units import format_size


@dataclass(frozen=True)
class GpuRing:
    """A ring in which an engine collects its blocks, in its own GPU memory."""

    bytes: int
    bytes_s: float
    """Bytes per second out of it when it registered."""


@dataclass(frozen=True)
class GpuEngine:
    """How the memory of one process on a GPU is copied."""

    pid: int
    runs: int
    """Contiguous pieces of one block."""
    page_bytes: int
    """Bytes of one block."""
    copy_strategy: str
    """``batch``, ``plain`` or ``gather``."""
    batch_bytes_s: float | None
    """Bytes per second when it registered; None: not measured, as there was no choice."""
    plain_bytes_s: float | None
    ring: GpuRing | None
    """None: no ring is used."""

    @property
    def way(self) -> str:
        """How it is copied, and what that was chosen by, in words."""
        rates = {"batch": self.batch_bytes_s, "plain": self.plain_bytes_s}
        told = [f"{way} {_rate(rate)}" for way, rate in rates.items() if rate is not None]
        if self.ring is not None:
            told.append(f"ring of {format_size(self.ring.bytes)} {_rate(self.ring.bytes_s)}")
        return f"by {self.copy_strategy}" + (f" ({', '.join(told)})" if told else "")


@dataclass(frozen=True)
class Gpu:
    """One GPU that the daemon reaches engines' memory on."""

    uuid: str
    name: str
    own_bytes: int | None
    """Bytes that the daemon took at its start, contexts and all; None: the driver does not say."""
    engines: tuple[GpuEngine, ...]
    is_shared_by_mps: bool = False
    """Through MPS, where copies may outlive a killed daemon."""


@dataclass(frozen=True)
class Gpus:
    """The machine's GPUs, as the daemon has them."""

    state: str
    """``starting``, ``ready`` or ``none``."""
    reason: str | None
    """Why there are none."""
    pinned_bytes: int
    """Bytes of the pool that are pinned for copies."""
    devices: tuple[Gpu, ...]


def _rate(bytes_s: float) -> str:
    return f"{format_size(int(bytes_s))}/s"
