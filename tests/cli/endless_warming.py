"""``pegaflow warm`` as a process, of a daemon that goes on until it is told to end."""

import json
import sys
import time
from typing import Any

from pegaflow.cli.app import run
from pegaflow.cli.context import AppContext
from pegaflow.client import Client
from pegaflow.models import Progress
from pegaflow.operation import Operation
from tests.cli.documents import warmed

MIB = 1 << 20


class EndlessWarming(Operation):
    """Loads a block each time that it is asked."""

    def __init__(self) -> None:
        self._blocks = 0
        self._is_cancelled = False

    def next(self) -> Progress | str:
        if self._is_cancelled:
            done = {"blocks": self._blocks, "bytes": self._blocks * MIB}
            return json.dumps(warmed(cancelled=True, **done))
        time.sleep(0.01)
        self._blocks += 1
        return Progress(self._blocks, self._blocks * MIB, 1 << 20, (1 << 20) * MIB)

    def cancel(self) -> None:
        self._is_cancelled = True


class WarmingDaemon(Client):
    """A daemon that can do nothing else."""

    def operate(self, name: str, **fields: Any) -> Operation:
        return EndlessWarming()


if __name__ == "__main__":
    context = AppContext(connect=lambda socket, timeout_s: WarmingDaemon(socket, timeout_s))
    sys.exit(run(["warm"], context))
