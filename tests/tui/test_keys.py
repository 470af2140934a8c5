"""What keys do."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from pegaflow.errors import ConfigError
from pegaflow.observe.settings import THEMES
from pegaflow.tui.app import TopApp
from pegaflow.tui.panels import PANELS, TablePanel
from pegaflow.tui.panels.engines import EnginesPanel
from pegaflow.tui.panels.hits import HitsPanel
from pegaflow.tui.replay import ReplayApp
from pegaflow.tui.screens.help import help_page
from tests.cli.full_disk import no_space
from tests.tui.scenes import Scene

Look = Callable[[Scene, Pilot[None]], Awaitable[None]]


def _look(scene: Scene, look: Look, *keys: str, size: tuple[int, int] = (120, 60)) -> None:
    async def run() -> None:
        async with scene.shown(size, keys) as pilot:
            await look(scene, pilot)

    asyncio.run(run())


async def _press(scene: Scene, pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await scene.settle(pilot)


@pytest.mark.parametrize("key", list(PANELS))
def test_a_panel_s_key_hides_it_and_shows_it_again(key: str) -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        panel = scene.app.query_one(PANELS[key])
        seen = [panel.display]
        for _ in range(2):
            await _press(scene, pilot, key)
            seen.append(panel.display)
        assert seen == [True, False, True]

    _look(Scene(), look)


def _engines(scene: Scene) -> list[str]:
    table = scene.app.query_one(EnginesPanel)
    assert table.view is not None
    return [engine.model for engine in table.ordered(table.view)]


def test_a_filter_shows_what_it_finds_and_esc_shows_all() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        before = _engines(scene)
        await _press(scene, pilot, "slash", *"llama", "enter")
        assert set(_engines(scene)) == {"Llama-3.3-70B-Instruct"}
        assert "FILTER llama" in scene.text()
        await _press(scene, pilot, "escape")
        assert _engines(scene) == before

    _look(Scene(), look)


def test_a_filter_with_an_exclamation_mark_shows_the_others() -> None:
    async def look(scene: Scene, _: Pilot[None]) -> None:
        assert "Llama-3.3-70B-Instruct" not in _engines(scene)
        assert _engines(scene)

    _look(Scene(), look, "slash", *"!llama", "enter")


def test_a_pattern_that_is_none_is_told_and_changes_nothing() -> None:
    async def look(scene: Scene, _: Pilot[None]) -> None:
        assert len(_engines(scene)) == 5
        assert [note.severity for note in scene.app._notifications] == ["error"]

    _look(Scene(), look, "slash", *"(", "enter")


def test_s_sorts_by_one_column_after_the_other_and_r_turns_the_order_around() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        own = _engines(scene)
        table = scene.app.query_one(EnginesPanel)
        for _ in table.columns:
            await _press(scene, pilot, "s")
        assert _engines(scene) == sorted(own, reverse=True)
        await _press(scene, pilot, "r")
        assert _engines(scene) == sorted(own)
        await _press(scene, pilot, "r", "s")
        assert _engines(scene) == own

    _look(Scene(), look)


def test_a_paused_view_does_not_move_and_its_age_grows() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        panel = scene.app.query_one(HitsPanel)
        before = panel.render()
        scene.app.post_message(scene.app.Received(scene.app.hosts[0], scene.sources[0].read()))
        scene.clock.at += 30
        source = scene.sources[0]
        scene.app.post_message(scene.app.Received(scene.app.hosts[0], source.read()))
        await pilot.pause()
        assert panel.render() == before
        await _press(scene, pilot, "p")
        assert panel.render() != before

    _look(Scene(), look, "p")


def test_reset_counts_from_then_on_until_esc() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        now = scene.app.hosts[0].now
        assert now is not None
        at_reset = now.blocks.requested
        for second in range(41, 46):
            scene.advance(second)
        await scene.settle(pilot)
        view = scene.app.query_one(HitsPanel).view
        assert view is not None
        assert view.counted.window_blocks.requested == view.now.blocks.requested - at_reset
        assert "since R, 6 s" in scene.text()
        await _press(scene, pilot, "escape")
        assert "since R" not in scene.text()

    _look(Scene(), look, "R")


def test_a_maximised_panel_is_alone_until_esc() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        assert "Engines" in scene.text()
        assert "Latency" not in scene.text()
        await _press(scene, pilot, "escape")
        assert "Latency" in scene.text()

    _look(Scene(), look, *["tab"] * 5, "M")


def test_faults_only_leaves_panels_and_rows_that_are_well_out() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        assert len(_engines(scene)) == 1
        assert "FAULTS ONLY" in scene.text()
        assert "Latency" not in scene.text()
        await _press(scene, pilot, "z")
        assert len(_engines(scene)) == 9

    _look(Scene(engines=9, seconds=100), look, "z")


def test_plus_and_minus_change_the_interval_within_limits() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        seen = [scene.app.pollers.interval_s]
        for key in ["minus"] * 4 + ["plus"] * 9:
            await _press(scene, pilot, key)
            seen.append(scene.app.pollers.interval_s)
        assert seen == [1, 0.5, 0.25, 0.25, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 60, 60]
        assert "every 60 s" in scene.text()

    _look(Scene(), look)


def test_t_goes_through_all_themes() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        seen = [scene.app.theme]
        for _ in THEMES:
            await _press(scene, pilot, "t")
            seen.append(scene.app.theme)
        assert seen == [*THEMES, THEMES[0]]

    _look(Scene(), look)


def test_e_writes_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def look(_: Scene, __: Pilot[None]) -> None:
        (file,) = tmp_path.iterdir()
        assert json.loads(file.read_text(encoding="utf-8"))["schema"] == "pegaflow.top/1"

    _look(Scene(), look, "e")


def test_e_says_what_it_cannot_write_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pegaflow.whole_file.os.fsync", no_space)

    async def look(scene: Scene, __: Pilot[None]) -> None:
        said = [notification.message for notification in scene.app._notifications]
        assert any("cannot be written to its end: No space left" in text for text in said)
        assert list(tmp_path.iterdir()) == []

    _look(Scene(), look, "e")


def test_arrows_walk_through_rows_and_enter_shows_all_of_one() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        await _press(scene, pilot, *["tab"] * 5, "down", "down", "up", "enter")
        assert "Engine e1e1e1e1e1e1e1e1" in scene.text()
        await _press(scene, pilot, "escape")
        assert "Engine e1e1e1e1e1e1e1e1" not in scene.text()

    _look(Scene(), look)


def test_the_palette_has_every_command() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        assert isinstance(scene.app.screen, CommandPalette)
        titles = [command.title for command in scene.app.get_system_commands(scene.app.screen)]
        assert "show faults only, and all" in titles
        assert "show and hide Tiers" in titles
        await _press(scene, pilot, *"faults only", "enter", "enter")
        assert scene.app.preferences.faults_only

    _look(Scene(), look, "colon")


def test_brackets_go_through_the_daemons_and_the_fleet() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        seen = [scene.app.shown]
        for key in ("right_square_bracket",) * 3 + ("left_square_bracket",):
            await _press(scene, pilot, key)
            seen.append(scene.app.shown)
        assert seen == [0, 1, 2, 0, 2]
        assert "gpu-2 ready" in scene.text()

    _look(Scene(hosts=2), look)


def test_enter_in_the_fleet_opens_the_daemon() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        await _press(scene, pilot, "tab", "down", "enter")
        assert scene.app.shown == 2

    _look(Scene(hosts=2), look)


def test_q_quits() -> None:
    scene = Scene()

    async def look(_: Scene, __: Pilot[None]) -> None:
        assert scene.app.return_code == 0
        assert not scene.app.is_running

    _look(scene, look, "q")


@pytest.mark.parametrize("app", [TopApp, ReplayApp])
def test_in_the_help_no_key_runs_into_its_words(app: type[TopApp]) -> None:
    text = str(help_page(app.SHOWN_KEYS, {}, None)._content)
    for key in app.SHOWN_KEYS:
        assert f"{key.key_display or key.key}  " in text


def test_every_panel_says_what_it_shows_in_the_help() -> None:
    async def look(scene: Scene, _: Pilot[None]) -> None:
        text = scene.text()
        for panel in PANELS.values():
            assert f"{panel.TITLE}: " in text

    _look(Scene(), look, "question_mark", size=(200, 60))


def test_each_table_survives_all_keys_with_nothing_in_it() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        for table in scene.app.query(TablePanel):
            table.focus()
            await _press(scene, pilot, "down", "up", "pagedown", "pageup", "enter", "s", "r")
        assert "none that fits the filter" in scene.text()

    _look(Scene(), look, "slash", *"nothing has this", "enter")


def test_keys_of_the_user_replace_those_that_there_are() -> None:
    async def look(scene: Scene, pilot: Pilot[None]) -> None:
        seen = []
        for key in "pw":
            await _press(scene, pilot, key)
            seen.append(scene.app.preferences.paused)
        assert seen == [False, True]
        await _press(scene, pilot, "question_mark")
        assert "w         pause, and go on" in scene.text()

    _look(Scene(keymap={"pause": "w"}), look)


def test_keys_and_themes_that_there_are_not_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"\[keys\] has moon, which no key does; allowed: back"):
        Scene(keymap={"moon": "m"})
    with pytest.raises(ConfigError, match="theme 'moon' cannot be used; allowed: textual-dark"):
        Scene(theme="moon")
