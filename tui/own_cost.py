"""What the dashboard itself takes of the machine."""

import time
from typing import Final

_WINDOW_S: Final = 5.0
"""What it is measured over."""


class OwnCost:
    """The processor time of this process."""

    def __init__(self) -> None:
        self.share: float | None = None
        """Of a core, over the last seconds; None before they have passed."""
        self._began = (time.monotonic(), time.process_time())

    def measure(self) -> None:
        """Take a new share, where enough time has passed since the last one."""
        wall, cpu = time.monotonic(), time.process_time()
        if wall - self._began[0] >= _WINDOW_S:
            self.share = (cpu - self._began[1]) / (wall - self._began[0])
            self._began = (wall, cpu)
