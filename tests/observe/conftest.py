"""Fixtures of the observed daemons."""

from tests.cli.conftest import host

__all__ = ["host"]
