"""Saves and loads through the RPC, beside what the copy engine alone reaches in the same run."""

from collections.abc import Iterator
from typing import Final

from pegaflow.bench.daemon import running_daemon
from pegaflow.bench.engine import attached
from pegaflow.bench.layout import BlockLayout
from pegaflow.bench.memory import HostDevice
from pegaflow.bench.transfer import median_rates
from tests.bench.rows import Row

_LAYOUT: Final = BlockLayout("blocks of 1 MiB", num_blocks=1024, runs=32, run_bytes=32 << 10)
"""Blocks that are 32 segments of 32 KiB each, scattered."""

_BLOCKS: Final = (64, 128, 256)
_ROUNDS: Final = 7
_SHARE: Final = 0.9


def rows(save_alone: float, load_alone: float) -> Iterator[Row]:
    """Rates in GB/s; the arguments are the copy engine's own with two threads."""
    with (
        running_daemon(4 << 30) as daemon,
        attached(daemon.socket, HostDevice(), _LAYOUT) as engine,
    ):
        engine.check()
        for count in _BLOCKS:
            save, load = median_rates(engine, count, _ROUNDS)
            name = f"through the RPC, {count} blocks of 1 MiB"
            yield Row(f"save {name}", save, "GB/s", round(_SHARE * save_alone, 2), "least")
            yield Row(f"load {name}", load, "GB/s", round(_SHARE * load_alone, 2), "least")
