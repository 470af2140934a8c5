"""Bytes on the socket are fields of a fixed schema, never objects."""

import os
import pickle
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.engine.daemon import DaemonProcess


class Malicious:
    """Makes a file in whoever unpickles it."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mknod, (str(self._mark),))


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with DaemonProcess("64MiB") as daemon:
        yield daemon


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_on_the_socket_runs_nothing(
    daemon: DaemonProcess, tmp_path: Path, protocol: int
) -> None:
    mark = tmp_path / "mark"
    pickled = pickle.dumps(Malicious(mark), protocol)
    assert b"mknod" in pickled
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(daemon.socket))
        connection.sendall(pickled)
        connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while connection.recv(4096):
                pass

    assert not mark.exists()
    assert daemon.status()["engines"] == []
