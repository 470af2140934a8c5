"""Where panels lie, and what fits on lines."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from pegaflow.errors import Unreachable
from pegaflow.tui import fleet_bars
from pegaflow.tui.host import Host
from pegaflow.tui.panels import PANELS, Panel, TablePanel
from pegaflow.tui.panels.engines import EnginesPanel
from pegaflow.tui.panels.log import LogPanel
from tests.tui.pictures import PICTURES, SIZES
from tests.tui.scenes import Scene

Look = Callable[[Scene, Pilot[None]], Awaitable[None]]


def _look(scene: Scene, look: Look, *keys: str, size: tuple[int, int]) -> None:
    async def run() -> None:
        async with scene.shown(size, keys) as pilot:
            await look(scene, pilot)

    asyncio.run(run())


def _regions(scene: Scene) -> list[Region]:
    """Where panels are, those that would be scrolled to too."""
    return [panel.region for panel in scene.app.query(Panel) if panel.display]


@pytest.mark.parametrize("size", [*SIZES, (40, 10), (76, 24), (159, 50), (160, 50)])
@pytest.mark.parametrize("keys", [[], ["1"], ["1", "5"], ["2", "4", "9", "f1"], ["c"]])
def test_panels_fill_their_rows_and_do_not_overlap(size: tuple[int, int], keys: list[str]) -> None:
    async def look(scene: Scene, _: Pilot[None]) -> None:
        regions = _regions(scene)
        width = max(region.right for region in regions)
        assert width >= size[0] - 1
        rows = {region.y: [other for other in regions if other.y == region.y] for region in regions}
        for row in rows.values():
            assert sum(region.width for region in row) == width
            assert len({region.height for region in row}) == 1
        assert sum(row[0].height for row in rows.values()) == max(one.bottom for one in regions) - (
            min(one.y for one in regions)
        )

    _look(Scene(), look, *keys, size=size)


def test_tables_get_the_lines_that_are_left() -> None:
    async def look(scene: Scene, _: Pilot[None]) -> None:
        seen = {table: table.room - 1 for table in scene.app.query(TablePanel) if table.display}
        engines = scene.app.query_one(EnginesPanel)
        assert 6 < seen[engines] < 64
        assert f"1 to {seen[engines]} of 64" in scene.text()
        # Nothing is below the last line that there is.
        assert max(region.bottom for region in _regions(scene)) == 58

    _look(Scene(engines=64), look, size=(200, 60))


def test_a_low_terminal_shows_less_of_each_panel_until_the_user_wants_more() -> None:
    seen = []

    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        seen.append(scene.app.preferences.compact)
        for size, keys in (((120, 40), ["c"]), ((80, 24), ["c"]), ((80, 20), [])):
            await pilot.resize_terminal(*size)
            await scene.settle(pilot)
            seen.append(scene.app.preferences.compact)
            await pilot.press(*keys)

    _look(Scene(), look, size=(80, 24))
    # What the user wants stays, whatever becomes of the terminal.
    assert seen == [True, False, True, False]


def test_arrows_scroll_where_no_table_has_the_focus_and_what_comes_into_sight_is_new() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        assert "Events" not in scene.text()
        scene.advance(scene.second + 1)
        scene.app.redraw()
        for _ in range(6):
            await pilot.press("pagedown")
        await scene.settle(pilot)
        assert "Peers" in scene.text()
        log = scene.app.query_one(LogPanel)
        assert log.view is scene.app.query_one(EnginesPanel).view

    _look(Scene(), look, size=(80, 24))


def test_enter_gives_a_panel_the_screen_and_right_and_left_step_through_panels() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        focused = scene.app.focused
        assert isinstance(focused, PANELS["2"])
        await pilot.press("enter")
        await scene.settle(pilot)
        assert scene.app.screen.maximized is focused
        assert "Tiers" not in scene.text()
        await pilot.press("escape")
        await scene.settle(pilot)
        assert "Tiers" in scene.text()

    _look(Scene(), look, "right", "right", "right", "left", size=(120, 40))


def test_a_fleet_is_shown_whose_first_daemon_never_answered() -> None:
    scene = Scene(hosts=2, seconds=0)
    scene.app.hosts[1].receive(scene.sources[1].read())
    scene.fail(0, Unreachable("http://gpu-1:9091/v1/status does not answer: refused"), 3)

    async def look(scene: Scene, _: Pilot[None]) -> None:
        assert "1 of 2 daemons not there: gpu-1 (never seen)" in scene.text()
        assert "gpu-2            ready" in scene.text()

    _look(scene, look, size=(120, 40))


def test_where_nothing_is_at_fault_it_says_so() -> None:
    async def look(scene: Scene, _: Pilot[None]) -> None:
        assert "Nothing is at fault; z shows all." in scene.text()

    _look(Scene(seconds=2), look, "z", size=(120, 40))


@pytest.mark.parametrize(("columns", "is_whole"), [(80, False), (200, True), (300, True)])
def test_names_are_whole_where_there_is_room(columns: int, is_whole: bool) -> None:
    async def look(scene: Scene, _: Pilot[None]) -> None:
        name = "e1" * 8
        assert (name in scene.text(), f"{name[:11]}~" in scene.text()) == (is_whole, not is_whole)

    _look(Scene(), look, size=(columns, 60))


def test_ascii_is_ascii() -> None:
    picture = next(one for one in PICTURES if one.name == "ascii")
    for size in SIZES:
        assert picture.file(size).read_text(encoding="utf-8").isascii()


@pytest.mark.parametrize("shown", [0, 1, 20, 40])
def test_the_tab_that_is_shown_is_seen_also_of_many(shown: int) -> None:
    hosts = [Host(f"gpu-{number}", {}) for number in range(1, 41)]
    line = "".join(text for text, _ in fleet_bars.tabs(hosts, shown, 60))
    assert ("[fleet]" if shown == 0 else f"[gpu-{shown}]") in line
    assert len(line) <= 60
    assert (line[0] == "<", line[-1] == ">") == (shown > 1, shown < 40)
