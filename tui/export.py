"""Writes what the dashboard knows to a file."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from pegaflow.observe import fleet
from pegaflow.tui.host import Host
from pegaflow.whole_file import whole_file


def export(hosts: Sequence[Host], at: float) -> Path:
    """The new file in the working directory, as `pegaflow top --once --json` writes it.

    Raises ``PegaflowError`` where it cannot be written.
    """
    known = [host.now for host in hosts if host.now is not None]
    gaps = [fleet.Unanswered(host.name, str(host.error)) for host in hosts if host.error]
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    file = Path(f"pegaflow-top-{stamp}.json")
    with whole_file(file, replace=True) as out:
        out.write(json.dumps(fleet.document(at, known, gaps)).encode() + b"\n")
    return file
