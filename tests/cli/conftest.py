"""The command line of a test, and a host for real daemons."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command_line import CommandLine
from tests.cli.installed import Host
from tests.cli.nowhere import Nowhere, somewhere_else
from tests.config.made_up_machine import MadeUpMachine


@pytest.fixture
def pegaflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    """``pegaflow`` with nothing of this machine in its environment, and of another one's memory."""
    with tempfile.TemporaryDirectory(prefix="pega-") as directory:
        machine = MadeUpMachine(Path(directory), memory=128 << 20, room=1 << 50)
        monkeypatch.setattr("pegaflow.config.daemon.auto_pool", machine.pool)
        yield CommandLine()


@pytest.fixture
def host() -> Iterator[Host]:
    """A host with no daemon; its path is short, as a socket's must be."""
    with tempfile.TemporaryDirectory(prefix="pega-") as directory:
        host = Host(Path(directory))
        try:
            yield host
        finally:
            host.close()


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nowhere]:
    """``pegaflow`` where it can do no harm, whatever it is told."""
    with somewhere_else(monkeypatch) as nowhere:
        yield nowhere
