"""The daemon: whether it runs, is of this version, and does what it was started for."""

import shlex
from collections.abc import Callable, Iterator

from pegaflow.doctor.finding import Finding
from pegaflow.errors import PegaflowError, Unreachable
from pegaflow.models import Status
from pegaflow.units import format_duration
from pegaflow.version import VERSION


def ask(read: Callable[[], Status], socket: str) -> Status | Finding:
    """The daemon's status, or why there is none."""
    try:
        return read()
    except Unreachable as error:
        remedy = f"start one with `pegaflow serve --detach --socket {shlex.quote(socket)}`"
        return Finding("daemon", "note", f"no daemon answers on {socket}", str(error), remedy)
    except PegaflowError as error:
        remedy = (
            "see its log; `pegaflow stop` or its service manager end it, and the next one has "
            "its cache"
        )
        text = f"the daemon on {socket} does not say how it is"
        return Finding("daemon", "problem", text, str(error), remedy)


def check(status: Status) -> Iterator[Finding]:
    """What a daemon that answers says of itself."""
    up = format_duration(status.uptime_s)
    evidence = f"{status.socket}: pid {status.pid}, {status.state}, up {up}"
    if status.state == "degraded":
        why = "; ".join(status.reasons)
        text, remedy = "the daemon is degraded", "remove what it names, as it says"
        yield Finding("daemon", "problem", text, f"{evidence}: {why}", remedy)
    else:
        yield Finding("daemon", "ok", f"the daemon is {status.state}", evidence)
    evidence = f"the daemon is {status.version}, this command is {VERSION}"
    if status.version == VERSION:
        yield Finding("versions", "ok", "daemon and command are of one version", evidence)
    else:
        text = "daemon and command are of different versions"
        remedy = "run `pegaflow restart` with the version that is wanted; the cache stays"
        yield Finding("versions", "problem", text, evidence, remedy)
