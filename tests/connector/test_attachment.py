"""What the log says of the daemon: each change once, and nothing about a quick start."""

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from pegaflow.connector.attachment import Attachment

if TYPE_CHECKING:
    from pegaflow._native import SchedulerClient, WorkerClient


class FakeSession:
    def __init__(self) -> None:
        self.is_attached = False
        self.refusal: str | None = None

    def attached(self) -> bool:
        return self.is_attached

    def last_error(self) -> str | None:
        return self.refusal


class Rig:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO")
        self.caplog = caplog
        self.now = 0.0
        self.session = FakeSession()
        self.attachment = Attachment("/run/daemon.sock", lambda: self.now)

    def look(self, now: float) -> None:
        self.now = now
        self.attachment.look(cast("SchedulerClient", self.session))

    def look_for_refusal(self, now: float) -> None:
        self.now = now
        self.attachment.look_for_refusal(cast("WorkerClient", self.session))

    def said(self) -> list[str]:
        return [record.getMessage() for record in self.caplog.records]


@pytest.fixture
def rig(caplog: pytest.LogCaptureFixture) -> Rig:
    return Rig(caplog)


def test_a_session_has_a_second_to_attach(rig: Rig) -> None:
    rig.look(0.0)
    rig.session.is_attached = True
    rig.look(0.9)
    rig.look(1.0)

    assert rig.said() == ["attached to the daemon at /run/daemon.sock"]


def test_a_daemon_that_comes_and_goes_is_said_once_each(rig: Rig) -> None:
    for now, attached in enumerate([False, False, False, True, True, False, False, True]):
        rig.session.is_attached = attached
        rig.look(float(now))

    words = ["no daemon answers" in text for text in rig.said()]
    assert words == [True, False, True, False]


def test_a_refused_worker_says_why_once(rig: Rig) -> None:
    rig.session.refusal = "set kernel.yama.ptrace_scope to 0"
    for now in range(4):
        rig.look_for_refusal(float(now))

    assert rig.said() == [
        "the daemon at /run/daemon.sock refuses this worker: set kernel.yama.ptrace_scope to 0"
    ]


@pytest.mark.parametrize("place", ["socket", "directory"])
def test_a_socket_that_this_user_may_not_use_is_said_with_the_remedy(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    path = tmp_path / "daemon.sock"
    path.touch()
    _forbid(monkeypatch, path, place)
    rig.attachment = Attachment(str(path), lambda: rig.now)
    rig.look(0.0)
    rig.look(1.0)

    (said,) = rig.said()
    assert f"this user may not use the socket {path}" in said
    assert "--socket-group" in said
    assert "no daemon answers" not in said
    assert rig.attachment.is_hopeless()


def _forbid(monkeypatch: pytest.MonkeyPatch, path: Path, place: str) -> None:
    """What the system says to a user that may not, whoever runs the tests."""
    access = os.access

    def no_access(of: str, mode: int) -> bool:
        return of != str(path) and access(of, mode)

    def no_search(self: Path) -> os.stat_result:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(os, "access", no_access)
    if place == "directory":
        monkeypatch.setattr(Path, "stat", no_search)
