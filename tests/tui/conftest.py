"""A host for real daemons."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.installed import Host


@pytest.fixture
def host() -> Iterator[Host]:
    """A host with no daemon."""
    with tempfile.TemporaryDirectory(prefix="pega-") as directory:
        host = Host(Path(directory))
        try:
            yield host
        finally:
            host.close()
