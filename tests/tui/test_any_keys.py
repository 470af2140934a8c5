"""Whatever is typed, whatever daemons do and however large the terminal is: it goes on."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from pegaflow.errors import Unreachable
from pegaflow.tui.keys import KEYS, PANEL_KEYS
from tests.tui.scenes import Scene

_BOUND = [key for binding in (*KEYS, *PANEL_KEYS) for key in binding.key.split(",")]
_KEYS = sorted({*_BOUND, "tab", "shift+tab", "enter", "backspace", "home", "end", *"abg(!.*"})
_STEPS = st.one_of(
    st.tuples(st.just("key"), st.sampled_from(_KEYS)),
    st.tuples(st.just("key"), st.sampled_from(_KEYS)),
    st.tuples(st.just("answer"), st.integers(1, 30)),
    st.tuples(st.just("silence"), st.integers(0, 1)),
    st.tuples(st.just("size"), st.sampled_from([(80, 24), (200, 60), (20, 5), (1, 1), (120, 40)])),
)


async def _step(scene: Scene, pilot: Pilot[None], kind: str, value: object) -> None:
    if kind == "key":
        await pilot.press(str(value))
    elif kind == "size":
        assert isinstance(value, tuple)
        await pilot.resize_terminal(*value)
    elif kind == "answer":
        assert isinstance(value, int)
        scene.advance(scene.second + value)
    else:
        assert isinstance(value, int)
        scene.fail(value, Unreachable("it does not answer"), scene.second + 1)
    await scene.settle(pilot)


@given(steps=st.lists(_STEPS, min_size=10, max_size=40), seconds=st.sampled_from([0, 3, 30]))
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_keys_answers_or_sizes_end_it_otherwise_than_by_quitting(
    steps: list[tuple[str, object]],
    seconds: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    async def run() -> None:
        scene = Scene(hosts=2, seconds=seconds, engines=9)
        async with scene.shown((100, 30)) as pilot:
            for kind, value in steps:
                await _step(scene, pilot, kind, value)
                if not scene.app.is_running:
                    break
            else:
                # It still does what keys say.
                await pilot.resize_terminal(120, 40)
                for _ in range(4):
                    await _step(scene, pilot, "key", "escape")
                await _step(scene, pilot, "key", "q")
            assert not scene.app.is_running
            assert scene.app.return_code == 0

    asyncio.run(run())
