"""Every screen looks as it did; `python -m tests.tui` draws them anew."""

from pathlib import Path

import pytest

from tests.tui.pictures import KEPT, PICTURES, Picture, all_pictures

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("picture", "size"),
    [
        pytest.param(picture, size, id=f"{picture.name}-{size[0]}x{size[1]}")
        for picture, size in all_pictures()
    ],
)
def test_a_screen_looks_as_it_did(picture: Picture, size: tuple[int, int]) -> None:
    assert picture.draw(size) == picture.file(size).read_text(encoding="utf-8")


def test_nothing_else_is_kept() -> None:
    assert {file.name for file in KEPT.iterdir()} == {
        picture.file(size).name for picture, size in all_pictures()
    }


@pytest.mark.parametrize("name", ["dashboard", "fleet", "faults"])
def test_the_pictures_of_the_readme_are_these_screens(name: str) -> None:
    picture = next(one for one in PICTURES if one.name == name)
    shown = (_ROOT / f"examples/screenshots/top-{name}.svg").read_text(encoding="utf-8")
    assert shown == picture.file((120, 40)).read_text(encoding="utf-8")
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    assert f"examples/screenshots/top-{name}.svg" in readme
