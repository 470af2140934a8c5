"""What was done and when, as lines of a file."""

import threading
from datetime import UTC, datetime
from pathlib import Path


class Journal:
    """Appends to ``path``, from any thread; its clock is that of the programs' logs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """One line."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(f"{time} {text}\n")
