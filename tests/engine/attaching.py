"""Waiting until an engine's two halves have found a daemon."""

from typing import Final

from tests.engine.daemon import DaemonProcess
from tests.engine.prompts import random_prompt
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.waiting import wait_until

_SHORT: Final = 4
"""Tokens of a prompt that leaves nothing in a cache."""


def wait_attached(engine: SteppedEngine, daemon: DaemonProcess, seconds: float) -> None:
    """Let ``engine`` serve short prompts until ``daemon``, which has no other, knows it whole.

    A worker learns only from the metadata of a step which engine it belongs to.
    """

    def is_attached() -> bool:
        engine.generate(random_prompt(_SHORT), generate=1)
        return daemon.complete_engines() > 0

    wait_until(is_attached, "the engine attaches to the daemon", seconds)
