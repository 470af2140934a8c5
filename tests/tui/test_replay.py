"""A recording shows what was shown when it was made."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from pegaflow.observe.player import SPEEDS, Player
from pegaflow.observe.recording import Recorder, Recording
from pegaflow.tui.replay import TICK_S, ReplayApp
from tests.tui.scenes import BEGAN, Scene

_SIZE = (120, 60)


def _record(file: Path, seconds: int, hosts: int = 1) -> Player:
    scene, recorder = Scene(hosts=hosts, seconds=0), Recorder(file)
    for second in range(seconds):
        scene.clock.at = BEGAN + second
        for source in scene.sources:
            recorder.add(source.read())
    recorder.close()
    return Player(Recording(file))


def _screen(app: ReplayApp) -> list[str]:
    """What is shown, without the line that says that it is a recording."""
    strips = app.screen._compositor.render_strips()
    return ["".join(part.text for part in strip).rstrip() for strip in strips][1:]


def _live(seconds: int, hosts: int = 1) -> list[str]:
    async def run() -> list[str]:
        scene = Scene(hosts=hosts, seconds=seconds)
        async with scene.shown(_SIZE):
            return scene.text().splitlines()[1:]

    return asyncio.run(run())


def _play(player: Player, look: Callable[[ReplayApp, Pilot[None]], Awaitable[None]]) -> None:
    async def run() -> None:
        app = ReplayApp(player, ticks=False)
        async with app.run_test(size=_SIZE) as pilot:
            await pilot.pause()
            await look(app, pilot)

    asyncio.run(run())


async def _settle(app: ReplayApp, pilot: Pilot[None]) -> None:
    await pilot.pause()
    app.redraw()
    await pilot.pause()


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_recording_that_is_played_shows_what_was_shown(tmp_path: Path, hosts: int) -> None:
    expected = _live(30, hosts)
    player = _record(tmp_path / "r", 60, hosts)

    async def compare(app: ReplayApp, pilot: Pilot[None]) -> None:
        for _ in range(int(29 / TICK_S)):
            app.play()
        await _settle(app, pilot)
        assert app.player.at == BEGAN + 29
        assert _screen(app) == expected

    _play(player, compare)


def test_going_back_and_on_shows_what_was_shown_then(tmp_path: Path) -> None:
    expected = _live(31)
    player = _record(tmp_path / "r", 60)

    async def look(app: ReplayApp, pilot: Pilot[None]) -> None:
        await pilot.press("end")
        await pilot.press("left", "left", "left")
        await pilot.press("shift+left")
        assert app.player.at == BEGAN
        await pilot.press("right", "right", "right")
        await _settle(app, pilot)
        assert app.player.at == BEGAN + 30
        assert _screen(app) == expected

    _play(player, look)


def test_it_ends_at_the_end_and_stands_still_when_paused(tmp_path: Path) -> None:
    player = _record(tmp_path / "r", 10)

    async def look(app: ReplayApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        app.play()
        assert player.at == BEGAN
        await pilot.press("p")
        for _ in range(100):
            app.play()
        assert player.at == BEGAN + 9

    _play(player, look)


def test_speeds_go_from_the_slowest_to_the_fastest(tmp_path: Path) -> None:
    player = _record(tmp_path / "r", 3)

    async def look(app: ReplayApp, pilot: Pilot[None]) -> None:
        for _ in SPEEDS:
            await pilot.press("greater_than_sign")
        assert player.speed == SPEEDS[-1]
        for _ in SPEEDS:
            await pilot.press("less_than_sign")
        assert player.speed == SPEEDS[0]
        await _settle(app, pilot)
        assert "x0.25" in app.screen._compositor.render_strips()[0].text

    _play(player, look)


def test_seconds_go_by_at_the_speed(tmp_path: Path) -> None:
    player = _record(tmp_path / "r", 40)
    player.faster(1)
    samples = list(player.forward(3.0))
    assert player.at == BEGAN + 6
    assert [sample.at for sample in samples] == [BEGAN + second for second in range(7)]
