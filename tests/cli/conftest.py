"""The command line of a test."""

import pytest

from tests.cli.command_line import CommandLine


@pytest.fixture
def pegaflow() -> CommandLine:
    """``pegaflow``, with nothing of this machine in its environment."""
    return CommandLine()
