"""Writes what the dashboard knows to a file."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from pegaflow.observe import fleet
from pegaflow.tui.host import Host


def export(hosts: Sequence[Host], at: float) -> Path:
    """The new file in the working directory, as `pegaflow top --once --json` writes it.

    Raises ``OSError`` with the file's name where it cannot be written.
    """
    known = [host.now for host in hosts if host.now is not None]
    gaps = [fleet.Unanswered(host.name, str(host.error)) for host in hosts if host.error]
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    file = Path(f"pegaflow-top-{stamp}.json")
    file.write_text(json.dumps(fleet.document(at, known, gaps)) + "\n", encoding="utf-8")
    return file
