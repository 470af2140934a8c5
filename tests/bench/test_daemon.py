"""The daemon of a measurement."""

import os
import tempfile
from pathlib import Path

import pytest

from pegaflow.bench.daemon import BenchDaemon
from pegaflow.config.locations import SOCKET_MAX_BYTES


@pytest.mark.parametrize("length", [0, 1, 10, 50, 90, 200])
def test_its_socket_can_be_bound_however_long_the_path_of_temporary_files_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    place = tmp_path / ("x" * length)
    place.mkdir(exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    daemon = BenchDaemon(1 << 20)
    try:
        assert len(os.fsencode(daemon.socket)) <= SOCKET_MAX_BYTES
    finally:
        daemon.close()
