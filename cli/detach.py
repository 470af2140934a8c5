"""A daemon in the background: its process, its log file and its pid file."""

import dataclasses
import os
import select
import selectors
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from pegaflow.cli.context import AppContext
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.output import note
from pegaflow.config import Config, Loaded
from pegaflow.document import parse
from pegaflow.errors import CallTimeout, ConfigError, PegaflowError
from pegaflow.models import Ready
from pegaflow.version import VERSION

_PATIENCE_S: Final = 5.0
"""So long a daemon that was not ready in time may take to end by itself."""

_KILLED_S: Final = 1.0
"""So long one that was killed may take to be gone; one that hangs in the kernel never is."""

_SUCCESSION_S: Final = 60.0
"""So long the next daemon waits for the end of one whose GPU is lost."""

_OF_A_SERVICE: Final = frozenset({"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"})
"""What a service manager tells the service that starts the daemon, and not the daemon."""


@dataclass(frozen=True)
class Announcement:
    """A daemon that answers, and its files."""

    ready: Ready
    log_file: str | None
    pid_file: str | None

    def document(self) -> dict[str, Any]:
        """The ``ready`` document."""
        files = {"log_file": self.log_file, "pid_file": self.pid_file}
        return {"version": VERSION, **dataclasses.asdict(self.ready), **files}


def warn(context: AppContext, ready: Ready) -> None:
    """Tell people what is not as it should be with a daemon that answers."""
    for sentence in ready.warnings:
        note(context, sentence)


def start_detached(loaded: Loaded, environ: Mapping[str, str], timeout_s: float) -> Announcement:
    """Start a daemon with these settings in a session of its own; returns once it answers.

    What it says goes to its log file. One that fails, or does not answer within ``timeout_s``, is
    gone when this raises, unless it hangs in the kernel, as on a disk that does not answer: the
    ``CallTimeout`` then says that it still runs.
    """
    config = loaded.config
    log_file = Path(config.log_file or _beside_socket(config, ".log"))
    pid_file = config.pid_file or str(_beside_socket(config, ".pid"))
    with _open_log(log_file, named=config.log_file is not None) as log:
        begin = log.tell()
        process = subprocess.Popen(
            [*_command(loaded), f"--log-file={log_file}", f"--pid-file={pid_file}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            env={name: text for name, text in environ.items() if name not in _OF_A_SERVICE},
            start_new_session=True,
        )
    line = _first_line(process, timeout_s)
    if line:
        return Announcement(parse(Ready, line), str(log_file), pid_file)
    if process.poll() is None:
        late = f"the daemon was not ready within {timeout_s:g} s"
        if _end(process):
            raise CallTimeout(f"{late} and was ended; its log is {log_file}")
        raise CallTimeout(
            f"{late}, and its process (pid {process.pid}) still runs: it was killed, and hangs in "
            f"the kernel, as on a disk that does not answer; its log is {log_file}"
        )
    said = log_file.read_bytes()[begin:].decode(errors="replace").strip().splitlines()
    reason = said[-1].removeprefix("pegaflow: ") if said else f"see its log {log_file}"
    error = ConfigError if process.returncode == ExitCode.USAGE else PegaflowError
    raise error(f"the daemon did not start: {reason}")


def successor(loaded: Loaded) -> list[str]:
    """The command that starts a detached daemon again once this process has ended."""
    return [*_command(loaded), f"--successor-of={os.getpid()}"]


def wait_for_end(pid: int) -> None:
    """Wait until the process has ended, not for ever: one that hangs in the kernel never does."""
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        select.select([process], [], [], _SUCCESSION_S)
        os.close(process)


def _end(process: "subprocess.Popen[bytes]") -> bool:
    """Tell it to end, so that it takes its files along; what does not listen is killed.

    Returns whether it has ended.
    """
    process.terminate()
    if not _has_ended(process, _PATIENCE_S):
        process.kill()
        return _has_ended(process, _KILLED_S)
    return True


def _has_ended(process: "subprocess.Popen[bytes]", within_s: float) -> bool:
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextmanager
def held_pid_file(path: Path) -> Iterator[None]:
    """This process's pid in ``path`` for as long as the block runs."""
    text = f"{os.getpid()}\n".encode()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(text)
    except OSError as error:
        raise ConfigError(f"cannot write pid_file {path}: {error.strerror}") from error
    try:
        yield
    finally:
        if path.is_file() and path.read_bytes() == text:
            path.unlink()


def _command(loaded: Loaded) -> list[str]:
    """The daemon's command line: what is not a default, so that its directory does not matter."""
    given = [value for value in loaded.values.values() if value.source != "default"]
    file = [f"--config={loaded.file.absolute()}"] if loaded.file else []
    flags = [value.argument for value in given]
    return [sys.executable, "-m", "pegaflow", "serve", "--json", "--detached", *file, *flags]


def _beside_socket(config: Config, suffix: str) -> Path:
    """Named as the socket: daemons whose sockets share a directory share no file."""
    socket = Path(config.socket)
    stem = socket.name.removesuffix(".sock")
    # x and x.sock are two sockets.
    mark = "" if stem != socket.name else ".daemon"
    return socket.with_name(stem + mark + suffix)


def _open_log(path: Path, *, named: bool) -> BinaryIO:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path.open("ab")
    except OSError as error:
        remedy = (
            "name another with --log-file"
            if named
            else "it is beside the socket: choose a socket elsewhere with --socket or "
            "PEGAFLOW_SOCKET, the same for engines"
        )
        raise ConfigError(f"cannot write log_file {path}: {error.strerror}; {remedy}") from error


def _first_line(process: "subprocess.Popen[bytes]", timeout_s: float) -> str:
    """The line that the daemon says when it answers; empty when it ended, or the time is over."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector, process.stdout as pipe:
        selector.register(pipe, selectors.EVENT_READ)
        if not selector.select(timeout_s):
            return ""
        line = pipe.readline().decode()
    if not line:
        _has_ended(process, _PATIENCE_S)
    return line
