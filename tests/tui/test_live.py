"""The installed command on a pseudo-terminal, against real daemons."""

import random
import re
import signal
from collections.abc import Iterator

import pytest

from tests.cli.installed import BIN, Host
from tests.tui.terminal import Terminal

_KEYS = [
    *"1234567890pzsrRMct+- /?[]xabc!.",
    *("\t", "\x1b[Z", "\r", "\x7f", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1bOP", "\x1bOQ"),
]
"""What is typed: all but q and the palette, whose commands quit."""


@pytest.fixture
def top(host: Host) -> Iterator[Terminal]:
    """``pegaflow top`` of that host."""
    command = [str(BIN / "pegaflow"), "top", "--interval", "250ms", "--timeout", "1s"]
    terminal = Terminal(command, host.environ)
    try:
        yield terminal
    finally:
        terminal.close()


def test_it_waits_for_a_daemon_shows_it_and_quits(host: Host, top: Terminal) -> None:
    top.wait_for("has not answered yet")
    host.serve()
    top.wait_for("16 MiB on")
    top.press("q")
    assert top.wait_end() == 0


def test_a_daemon_that_is_killed_and_comes_back_is_told(host: Host, top: Terminal) -> None:
    daemon = host.serve()
    top.wait_for("16 MiB on")
    daemon.kill()
    daemon.wait()
    top.wait_for("DISCONNECTED, what is shown is")
    host.serve()
    top.wait_for("the daemon restarted")
    top.press("q")
    assert top.wait_end() == 0


def test_a_daemon_that_hangs_is_told_and_seen_again_when_it_goes_on(
    host: Host, top: Terminal
) -> None:
    daemon = host.serve()
    top.wait_for("16 MiB on")
    daemon.send_signal(signal.SIGSTOP)
    try:
        top.wait_for("did not answer within 1 s")
    finally:
        daemon.send_signal(signal.SIGCONT)
    # The panels move up where the banner was.
    top.wait_for("1 Tiers")
    top.press("q")
    assert top.wait_end() == 0


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(host: Host) -> None:
    host.serve()
    command = [str(BIN / "pegaflow"), "top", "-i", "100ms"]
    terminal = Terminal(command, host.environ, kind="dumb")
    try:
        terminal.wait_for("asked/s")
        terminal.wait_for(" ready ")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.wait_end() == 130
        assert "\x1b" not in terminal.seen
    finally:
        terminal.close()


def test_ctrl_c_quits(top: Terminal) -> None:
    top.wait_for("has not answered yet")
    top.press("\x03")
    assert top.wait_end() == 0


_MODES = re.compile(r"\x1b\[\?(\d+)([hl])")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("replays", [False, True])
def test_a_signal_ends_it_as_shells_say_and_leaves_the_terminal_as_it_was(
    host: Host, number: signal.Signals, replays: bool
) -> None:
    command = [str(BIN / "pegaflow"), "top"]
    if replays:
        file = str(host.directory / "recording")
        args = ("top", "--demo", "-n", "2", "-i", "100ms", "--headless", "--record", file)
        assert host.run(*args).returncode == 0
        command += ["--replay", file]
    else:
        command += ["--demo"]
    terminal = Terminal(command, host.environ)
    try:
        terminal.wait_for("together")
        assert not terminal.is_as_before()
        terminal.process.send_signal(number)
        assert terminal.wait_end() == 128 + number
        assert terminal.is_as_before()
        modes = dict(_MODES.findall(terminal.seen))
        # The alternate screen, the mouse, and the cursor.
        assert [modes[mode] for mode in ("1049", "1000", "1003", "25")] == [*"lllh"]
    finally:
        terminal.close()


@pytest.mark.parametrize("seed", range(3))
def test_random_keys_and_sizes_while_the_daemon_is_killed_and_comes_back_do_not_end_it(
    host: Host, top: Terminal, seed: int
) -> None:
    randomly = random.Random(seed)
    daemon = host.serve()
    top.wait_for("16 MiB on")
    for step in range(150):
        top.press(randomly.choice(_KEYS))
        if step % 10 == 9:
            top.resize(randomly.choice([(80, 24), (200, 60), (120, 40), (40, 10)]))
        if step == 50:
            daemon.kill()
            daemon.wait()
        elif step == 100:
            daemon = host.serve()
        top.read_for(0.01)
        assert top.process.poll() is None, top.seen[-4000:]
    top.resize((120, 60))
    assert top.quit() == 0
    assert "Traceback" not in top.seen


def test_where_no_colour_is_wanted_all_is_grey(host: Host) -> None:
    greys = {"16", "231", *(str(shade) for shade in range(232, 256))}
    shown = {}
    for wanted, environ in ((True, {}), (False, {"NO_COLOR": "1"})):
        terminal = Terminal([str(BIN / "pegaflow"), "top", "--demo"], host.environ | environ)
        try:
            terminal.wait_for("together")
            terminal.press("q")
            assert terminal.wait_end() == 0
        finally:
            terminal.close()
        shown[wanted] = set(re.findall(r"[34]8;5;(\d+)", terminal.seen))
    assert shown[False] <= greys < greys | shown[True]
