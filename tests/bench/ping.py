"""A byte to another process and back over a Unix socket: what no call can be faster than."""

import multiprocessing
import socket
import time

from pegaflow.bench.figures import median
from tests.bench.rows import Row

_ROUNDS = 5000


def rows() -> list[Row]:
    """The ping of this run."""
    near, far = socket.socketpair()
    echo = multiprocessing.get_context("spawn").Process(target=_echo, args=(far,), daemon=True)
    echo.start()
    far.close()
    laps = []
    with near:
        for _ in range(_ROUNDS):
            began = time.perf_counter_ns()
            near.sendall(b"x")
            near.recv(1)
            laps.append((time.perf_counter_ns() - began) / 1000)
    echo.join()
    return [Row("raw socket ping, p50", median(laps), "us")]


def _echo(far: socket.socket) -> None:
    with far:
        while byte := far.recv(1):
            far.sendall(byte)
