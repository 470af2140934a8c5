"""The demo and its negative control, as ``make demo`` and ``make demo-control`` run them."""

import io

import pytest
from rich.console import Console

from tests.demo.control import run_control
from tests.demo.report import Report
from tests.demo.ssd_story import SsdStory
from tests.demo.story import Story
from tests.engine.prompts import full_block_tokens
from tests.engine.vllm_install import VllmInstall

pytestmark = pytest.mark.engine


@pytest.mark.timeout(600)
def test_the_cache_outlives_a_killed_engine_and_a_killed_daemon(install: VllmInstall) -> None:
    figures = Story(Report(Console(file=io.StringIO())), install).tell(seed=0)

    assert list(figures.problems()) == []
    document = figures.document()
    assert document["engine_kills"] == 1
    assert document["same_tokens"] == document["prompts"] == 8
    assert document["errors"] == 0
    assert document["daemon_kills"] == 1
    assert document["after_daemon_kill"]["same_tokens"] == 8
    for who in ("after_kill", "after_daemon_kill"):
        first = figures.rows[0].warm[who]
        assert first is not None
        assert first.hits.external == full_block_tokens(figures.rows[0].prompt)


@pytest.mark.timeout(600)
def test_the_cache_comes_back_from_ssd_when_all_is_killed_and_the_pool_is_purged(
    install: VllmInstall,
) -> None:
    figures = SsdStory(Report(Console(file=io.StringIO())), install).tell(seed=0)

    assert list(figures.problems()) == []
    document = figures.document()
    assert document["same_tokens"] == document["prompts"] == 8
    assert document["ssd_hit_blocks"] > 0
    assert document["warmed_blocks"] > 0
    assert document["wrong_pages"] == 0


def test_swapped_bytes_of_a_cached_block_change_the_tokens(install: VllmInstall) -> None:
    control = run_control(Report(Console(file=io.StringIO())), install)

    assert control.positions_above_noise > 0
    assert control.differing(control.untouched) == 0
    assert control.differing(control.swapped) > 0
