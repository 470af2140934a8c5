"""Dashboards as tests look at them: made-up daemons, a clock that stands still, no threads."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from pegaflow.errors import PegaflowError
from pegaflow.observe.scripted import ScriptedSource
from pegaflow.tui.app import TopApp
from tests.observe.clock import Clock

BEGAN = 1_700_000_000.0


class Scene:
    """A dashboard whose daemons answer when the test says so."""

    def __init__(self, hosts: int = 1, seconds: int = 40, **options: Any) -> None:
        sources: dict[str, Any] = {"engines": 5, "namespaces": 4, "restart_after_s": 25.0}
        for key in sources.keys() & options.keys():
            sources[key] = options.pop(key)
        offline_after_s = options.pop("offline_after_s", None)
        self.clock = Clock(BEGAN)
        self.second = 0.0
        self.sources = [
            ScriptedSource(
                f"gpu-{number + 1}",
                self.clock,
                BEGAN,
                offline_after_s=offline_after_s,
                **sources,
            )
            for number in range(hosts)
        ]
        self.app = TopApp(self.sources, clock=self.clock, polls=False, **options)
        for second in range(seconds):
            self.advance(second)

    def advance(self, second: float) -> None:
        """Let every daemon answer once, ``second`` seconds after the begin."""
        self.second = second
        self.clock.at = BEGAN + second
        for host, source in zip(self.app.hosts, self.sources, strict=True):
            host.receive(source.read())

    def fail(self, host: int, error: PegaflowError, second: float) -> None:
        """Let a daemon not answer."""
        self.second = second
        self.clock.at = BEGAN + second
        self.app.hosts[host].receive(error)

    @asynccontextmanager
    async def shown(
        self, size: tuple[int, int] = (120, 40), keys: Sequence[str] = ()
    ) -> AsyncIterator[Pilot[None]]:
        """The dashboard on a terminal, after some keys."""
        async with self.app.run_test(size=size) as pilot:
            await self.settle(pilot)
            for key in keys:
                await pilot.press(key)
                await self.settle(pilot)
            yield pilot

    async def settle(self, pilot: Pilot[None]) -> None:
        """Draw all that there is to draw."""
        await pilot.pause()
        self.app.redraw()
        await pilot.pause()

    def text(self) -> str:
        """What the terminal shows, without colours."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)
