"""A host for real daemons."""

from tests.cli.conftest import host

__all__ = ["host"]
