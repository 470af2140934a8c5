"""Every screen that is kept: `python -m tests.tui` draws them anew."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegaflow.errors import Unreachable
from pegaflow.observe.operator import Operator
from tests.tui.scenes import Scene

KEPT: Final = Path(__file__).parent / "screens"
SIZES: Final = ((80, 24), (120, 40), (200, 60))


@dataclass(frozen=True)
class Picture:
    """A scene, and the keys that lead to what is looked at."""

    name: str
    scene: Callable[[], Scene]
    keys: Sequence[str] = ()

    def draw(self, size: tuple[int, int]) -> str:
        """The screen at a size."""
        return asyncio.run(self._draw(size))

    def file(self, size: tuple[int, int]) -> Path:
        """Where it is kept."""
        return KEPT / f"{self.name}-{size[0]}x{size[1]}.svg"

    async def _draw(self, size: tuple[int, int]) -> str:
        scene = self.scene()
        async with scene.shown(size, self.keys):
            return svg(scene)


def svg(scene: Scene) -> str:
    """A picture of the terminal, which fetches no font from anywhere."""
    drawn = scene.app.export_screenshot(simplify=True)
    return re.sub(r"\n    @font-face \{.*?\n    \}", "", drawn, flags=re.DOTALL)


def _gone() -> Scene:
    scene = Scene()
    scene.fail(0, Unreachable("http://gpu-1:9091/v1/status does not answer: refused"), 52)
    return scene


def _one_gone() -> Scene:
    scene = Scene(hosts=3)
    scene.fail(1, Unreachable("http://gpu-2:9091/v1/status does not answer: refused"), 44)
    return scene


def _may_act() -> Scene:
    return Scene(operators={"gpu-1": Operator(lambda: "http://gpu-1:9091", Path("token"))})


PICTURES: Final = (
    Picture("dashboard", Scene),
    Picture("fleet", _one_gone),
    Picture("faults", lambda: Scene(offline_after_s=20, engines=9, seconds=100), ["z"]),
    Picture("disconnected", _gone),
    Picture("confirmation", _may_act, ["x"]),
    Picture("help", Scene, ["question_mark"]),
    Picture("engines", lambda: Scene(engines=64), ["tab", "tab", "tab", "tab", "tab", "M"]),
    Picture("namespaces", lambda: Scene(namespaces=50), [*["tab"] * 6, "s", "M"]),
    Picture("details", Scene, ["tab", "tab", "tab", "tab", "tab", "down", "enter"]),
    Picture("compact", Scene, ["c"]),
    Picture("filtered", Scene, ["slash", *"!llama", "enter"]),
    Picture("ascii", lambda: Scene(ascii_only=True)),
    Picture("waiting", lambda: Scene(seconds=0)),
)


def all_pictures() -> Iterator[tuple[Picture, tuple[int, int]]]:
    """Every picture at every size."""
    for picture in PICTURES:
        for size in SIZES:
            yield picture, size
